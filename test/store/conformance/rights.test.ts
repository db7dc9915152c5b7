import { beforeAll, expect, test } from 'vitest'
import type { RightsFault } from '../../../server/domain/rows.ts'
import { Vault } from '../../../server/keys/secret-encryption.ts'
import { addRelayer, apiKeyOf, notificationOf, unique } from './resources.ts'
import { onEveryStore } from './stores.ts'

const guard = new Vault(Buffer.alloc(32, 1))
const distrusted = expect.objectContaining({ code: 'unavailable' })

onEveryStore((opened) => {
  const faults: RightsFault[] = []
  const told = (id: string) =>
    faults.filter((fault) => fault.id === id).map(({ table, reason }) => `${table}: ${reason}`)
  const refused = (work: Promise<unknown>) => expect(work).rejects.toEqual(distrusted)

  beforeAll(async () => {
    const { store } = opened()
    faults.length = 0
    const sealed = guard.seal(Buffer.from('proof'), 'vault_check')
    const wrapped = { by: 'vault:transit/relayer', bytes: Buffer.from([0, 255, 1]) }
    expect(await store.masterKeyCheck()).toBeUndefined()
    const protect = store.protect(
      (known) => ({ guard, is_protected: known !== undefined, sealed, wrapped }),
      (fault) => faults.push(fault),
    )
    expect(await protect).toEqual({ first_sealed: 0 })
    expect(await store.masterKeyCheck()).toEqual({ sealed: Buffer.from(sealed), wrapped })
  })

  test('trusts its own writes, also after many concurrent changes of the same rows', async () => {
    const { store } = opened()
    const hook = unique('hook')
    await store.createNotification(notificationOf(hook))
    const { id, network, row_id } = await addRelayer({ store }, { notification_ids: [hook], name: 'Ünï "c\\ode\u0001' })
    const key = unique('key')
    await store.createApiKey(apiKeyOf(key, { relayer_ids: [id] }))
    await Promise.all(
      Array.from({ length: 8 }, (_, index) => [
        store.updateRelayer(id, (its) => ({ ...its, policies: { allow_messages: index % 2 === 0 } })),
        store.updateNetwork(`evm:${network}`, (its) => ({ ...its, required_confirmations: index + 1 })),
        store.updateNotification(hook, { url: `https://example.com/${index}`, former_until: 1 }),
        store.updateApiKey(key, { name: `Name ${index}` }),
        store.rotateApiKey(key, { secret_hash: Buffer.alloc(32, index), previous_token_expires_at: null }),
        store.getRelayer(id),
        store.getNetwork(`evm:${network}`),
      ]).flat(),
    )
    expect(await store.getRelayer(id)).toMatchObject({ id })
    expect(await store.getRelayerByRowId(row_id)).toMatchObject({ id })
    expect(await store.getNetwork(`evm:${network}`)).toMatchObject({ name: network })
    expect(await store.getSecret(id)).toMatchObject({ id })
    expect(await store.getTarget((await store.targetRowId(hook)) as number)).toMatchObject({ id: hook })
    // The list of the API key becomes shorter with it.
    expect(await store.deleteRelayer(id)).toBe('deleted')
    expect((await store.apiKeys()).find((its) => its.id === key)).toMatchObject({ relayer_ids: [] })
    expect(faults).toEqual([])
  })

  test('refuses an API key that another program changed, and accepts the others', async () => {
    const { store, rows } = opened()
    const { id: relayer } = await addRelayer({ store })
    const [changed, widened, fine] = [unique('key'), unique('key'), unique('key')]
    for (const id of [changed, widened, fine]) await store.createApiKey(apiKeyOf(id, { relayer_ids: [] }))
    await rows(`UPDATE api_keys SET scopes = '["manage"]' WHERE id = '${changed}'`)
    await rows(`INSERT INTO api_key_relayers (api_key_row_id, relayer_row_id)
      SELECT api_keys.row_id, relayers.row_id FROM api_keys, relayers WHERE api_keys.id = '${widened}' AND relayers.id = '${relayer}'`)
    const known = (await store.apiKeys()).map(({ id }) => id)
    const single = await Promise.all(
      (await store.listApiKeys({ offset: 0, limit: 1_000 })).items.map(({ id }) => store.apiKey(id)),
    )
    expect(single.flatMap((apiKey) => apiKey?.id ?? [])).toEqual(known)
    expect([changed, widened, fine].map((id) => known.includes(id))).toEqual([false, false, true])
    expect([told(changed), told(widened)]).toEqual([['api_keys: changed'], ['api_keys: changed']])
  })

  test('refuses to read or change a relayer that another program changed, and deletes it', async () => {
    const { store, rows } = opened()
    const { id, address } = await addRelayer({ store })
    const { id: other } = await addRelayer({ store })
    await rows(`UPDATE relayers SET policies = '{}' WHERE id = '${id}'`)
    await refused(store.getRelayer(id))
    await refused(store.relayersOn(address))
    await refused(store.updateRelayer(id, (its) => ({ ...its, name: 'Harmless' })))
    expect(await store.getRelayer(other)).toMatchObject({ id: other })
    expect(told(id)).toEqual(['relayers: changed'])
    expect(await store.deleteRelayer(id)).toBe('deleted')
    expect(await store.getRelayer(id)).toBeUndefined()
  })

  test('protects the columns of later releases, and trusts rows from before them', async () => {
    const { store, rows } = opened()
    const [first, second] = [unique('hook'), unique('hook')]
    await store.createNotification(notificationOf(first))
    await store.createNotification(notificationOf(second, { filter: { events: null, statuses: ['failed'] } }))
    const { id } = await addRelayer({ store }, { notification_ids: [first, second] })
    const { id: other } = await addRelayer({ store }, { notification_ids: [first] })
    expect(await store.getRelayer(id)).toMatchObject({ notification_ids: [first, second] })
    await rows(`UPDATE relayers SET other_notification_ids = NULL WHERE id = '${id}'`)
    await rows(`UPDATE relayers SET other_notification_ids = '["${second}"]' WHERE id = '${other}'`)
    for (const its of [id, other]) await refused(store.getRelayer(its))
    await rows(`UPDATE notifications SET filter = NULL WHERE id = '${second}'`)
    await refused(store.getTarget((await store.targetRowId(second)) as number))
    expect(await store.getTarget((await store.targetRowId(first)) as number)).toMatchObject({ id: first })
  })

  test('protects the funding of a relayer and the pools of an API key', async () => {
    const { store, rows } = opened()
    const { id: treasury, network } = await addRelayer({ store })
    const { id } = await addRelayer({ store }, { network })
    const amounts = { min_balance: '1', target_balance: '2', max_amount_per_day: '3', max_fee_per_gas: '4' }
    expect(await store.setFunding(id, { treasury_id: treasury, asset: 'coin', ...amounts })).toMatchObject({ id })
    expect((await store.getRelayer(id))?.funding).toMatchObject({ treasury_id: treasury, max_amount_per_day: '3' })
    await rows(
      `UPDATE relayers SET funding = replace(funding, '"max_amount_per_day":"3"', '"max_amount_per_day":"9"') WHERE id = '${id}'`,
    )
    await refused(store.getRelayer(id))
    const pool = unique('pool')
    await store.createPool({ id: pool, name: pool, network, relayer_ids: [treasury], policies: {} })
    const key = unique('key')
    await store.createApiKey(apiKeyOf(key, { relayer_ids: [] }))
    expect(await store.apiKey(key)).toMatchObject({ pool_ids: [] })
    await rows(`UPDATE api_keys SET pool_ids = '["${pool}"]' WHERE id = '${key}'`)
    expect(await store.apiKey(key)).toBeUndefined()
  })

  /** Another program takes a change of the network back, with the seal of the older state. */
  async function rollBack(name: string) {
    const { store, rows } = opened()
    const [older] = await rows<{ rights_version: number }>(`SELECT rights_version FROM networks WHERE name = '${name}'`)
    await rows(`CREATE TABLE older_networks AS SELECT * FROM networks WHERE name = '${name}'`)
    await store.updateNetwork(`evm:${name}`, (its) => ({ ...its, required_confirmations: 99 }))
    expect((await store.getNetwork(`evm:${name}`))?.required_confirmations).toBe(99)
    await rows(`UPDATE networks SET required_confirmations = 12, rights_version = ${older?.rights_version},
      rights_mac = (SELECT rights_mac FROM older_networks) WHERE name = '${name}'`)
    await rows('DROP TABLE older_networks')
  }

  test('fails every change of a protected row with a trigger of another program', async () => {
    const { store, rows, trigger } = opened()
    await rows(trigger.create)
    await expect(store.createNotification(notificationOf(unique('hook')))).rejects.toThrow(/triggers or views.*planted/)
    await rows(trigger.drop)
    expect(await store.createNotification(notificationOf(unique('hook')))).toMatchObject({ type: 'webhook' })
  })

  // The last case: since then the tables are refused.
  test('refuses an older state of a row, and its whole table after a scan, as with a missing row', async () => {
    const { store, rows } = opened()
    const { network } = await addRelayer({ store })
    const [gone, stays] = [unique('hook'), unique('hook')]
    await store.createNotification(notificationOf(gone))
    await store.createNotification(notificationOf(stays))
    const target = (await store.targetRowId(stays)) as number
    await rollBack(network)
    await refused(store.getNetwork(`evm:${network}`))
    expect(told(`evm:${network}`)).toContain('networks: rolled back')
    await rows(`DELETE FROM notifications WHERE id = '${gone}'`)
    await rows('UPDATE generation SET value = value + 1')
    await expect
      .poll(async () => {
        await store.generation()
        return store.getTarget(target).then(
          () => 'trusted',
          () => 'refused',
        )
      })
      .toBe('refused')
    // The relayer's network and signer are new and unchanged.
    await refused(addRelayer({ store }))
    const reason = 'rows are missing or rolled back'
    for (const table of ['networks', 'notifications']) expect(faults).toContainEqual({ table, id: null, reason })
  })
})
