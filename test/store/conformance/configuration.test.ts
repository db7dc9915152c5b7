import { expect, test } from 'vitest'
import { withRevision } from '../../../server/domain/revision.ts'
import { addRelayer, networkOf, notificationOf, relayerOf, signerOf, unique } from './resources.ts'
import { onEveryStore } from './stores.ts'

onEveryStore((opened) => {
  test('networks: creates once, reads, changes, lists in order and deletes', async () => {
    const { store } = opened()
    const { total_items: before } = await store.listNetworks({ offset: 0, limit: 0 })
    const [a, b] = [networkOf(unique('n')), networkOf(unique('n'), { is_testnet: true, average_blocktime_ms: 2_000 })]
    const created = await store.createNetwork(a)
    expect([created?.id, (await store.createNetwork(b))?.id, await store.createNetwork(a)]).toEqual([
      a.id,
      b.id,
      undefined,
    ])
    const createdAt = created?.created_at as string
    expect(await store.getNetwork(b.id)).toEqual({ ...b, revision: expect.any(String), created_at: expect.any(String) })
    const changed = withRevision('networks', { ...a, created_at: createdAt, required_confirmations: 1, tags: ['x'] })
    expect(await store.updateNetwork(a.id, () => changed)).toEqual(changed)
    expect(await store.getNetwork(a.id)).toEqual(changed)
    expect(await store.listNetworks({ offset: before, limit: 1 })).toEqual({
      items: [changed],
      total_items: before + 2,
    })
    expect(await store.listNetworks({ offset: before + 2, limit: 5 })).toEqual({ items: [], total_items: before + 2 })
    expect([await store.deleteNetwork(a.id), await store.deleteNetwork(a.id)]).toEqual(['deleted', 'missing'])
    expect([await store.getNetwork(a.id), await store.updateNetwork(a.id, (its) => its)]).toEqual([
      undefined,
      undefined,
    ])
  })

  test('signers: returns the secret by getSecret only, and refuses to delete a used one', async () => {
    const { store } = opened()
    const { signer_id: id, address, network } = await addRelayer({ store })
    expect(await store.createSigner(signerOf(id))).toBeUndefined()
    expect(await store.getSigner(id)).toEqual({ id, type: 'local', address, created_at: expect.any(String) })
    const secret = await store.getSecret(id)
    expect([secret?.type, Buffer.from(secret?.secret ?? []).toString()]).toEqual(['local', `secret of ${id}`])
    expect([await store.getSigner('none'), await store.getSecret('none')]).toEqual([undefined, undefined])
    const users = (await store.relayersOn(address)).map((relayer) => relayer.id)
    expect(await store.deleteSigner(id)).toEqual({ used_by: 'relayers', ids: users })
    expect(await store.deleteNetwork(`evm:${network}`)).toEqual({ used_by: 'relayers', ids: users })
    const other = signerOf(unique('s'))
    await store.createSigner(other)
    const { items } = await store.listSigners({ offset: 0, limit: 1_000 })
    expect(items.at(-1)).toEqual({
      id: other.id,
      type: other.type,
      address: other.address,
      created_at: expect.any(String),
    })
    expect([await store.deleteSigner(other.id), await store.deleteSigner(other.id)]).toEqual(['deleted', 'missing'])
  })

  test('relayers: names each obstacle, in the same order', async () => {
    const { store } = opened()
    const { id, network, signer_id } = await addRelayer({ store })
    const free = unique('s')
    const create = (changes: object) => store.createRelayer({ ...relayerOf(unique('r'), network, free), ...changes })
    expect([
      await create({ id }),
      await create({ network: 'none' }),
      await create({}),
      await create({ signer_id, notification_ids: ['none'] }),
      await create({ signer_id }),
    ]).toEqual(['id_taken', 'unknown_network', 'unknown_signer', 'unknown_notification', 'address_taken'])
  })

  test('relayers: reads by id, row id and address, lists, changes and deletes', async () => {
    const { store } = opened()
    const relayer = await addRelayer({ store })
    const { id, row_id, address } = relayer
    expect(relayer).toMatchObject({ chain_id: 1, paused: false, policies: { allow_messages: false } })
    expect([await store.getRelayer(id), await store.getRelayerByRowId(row_id)]).toEqual([relayer, relayer])
    expect(await store.relayersOn(address)).toEqual([relayer])
    const other = await addRelayer({ store })
    const slice = { offset: 0, limit: 1 }
    expect(await store.listRelayers(slice, new Set([other.id, id, 'none']))).toEqual({
      items: [relayer],
      total_items: 2,
    })
    const { items } = await store.listRelayers({ offset: 0, limit: 1_000 })
    expect(items.slice(-2)).toEqual([relayer, other])
    const paused = await store.updateRelayer(id, (its) => ({ ...its, paused: true, name: 'Other' }))
    expect(paused).toEqual(withRevision('relayers', { ...relayer, paused: true, name: 'Other' }))
    expect(await store.getRelayer(id)).toEqual(paused)
    expect(await store.updateRelayer('none', (its) => its)).toBe('missing')
    expect([await store.deleteRelayer(id), await store.deleteRelayer(id)]).toEqual(['deleted', 'missing'])
    expect([await store.getRelayer(id), await store.relayersOn(address)]).toEqual([undefined, []])
  })

  test('relayers: accepts only a notification of their creator, and keep an attached one', async () => {
    const { store } = opened()
    const { id } = await addRelayer({ store })
    const [mine, foreign] = [unique('hook'), unique('hook')]
    await store.createNotification(notificationOf(mine, { created_by: 'me' }))
    await store.createNotification(notificationOf(foreign))
    const attach = (notificationIds: string[], creator?: string) =>
      store.updateRelayer(id, (its) => ({ ...its, notification_ids: notificationIds }), { creator })
    expect([await attach(['none']), await attach([foreign], 'me'), await attach([mine, foreign], 'me')]).toEqual([
      'unknown_notification',
      'unknown_notification',
      'unknown_notification',
    ])
    expect(await attach([mine], 'me')).toMatchObject({ notification_ids: [mine] })
    expect(await attach([mine, foreign])).toMatchObject({ notification_ids: [mine, foreign] })
    const inUse = { used_by: 'reporting_relayers', ids: [id] }
    expect([await store.deleteNotification(foreign), await store.deleteNotification(mine)]).toEqual([inUse, inUse])
    expect(await attach([foreign], 'me')).toMatchObject({ notification_ids: [foreign] })
    expect(await store.getRelayer(id)).toMatchObject({ notification_ids: [foreign] })
    expect([await store.deleteNotification(foreign), await store.deleteNotification(mine)]).toEqual([inUse, 'deleted'])
  })

  test('relayers: creates events for a stop, a start and a low balance, each with its deliveries', async () => {
    const { store } = opened()
    const hook = unique('hook')
    await store.createNotification(notificationOf(hook))
    const { id, row_id } = await addRelayer({ store }, { notification_ids: [hook] })
    await store.updateRelayer(id, (its) => ({ ...its, name: 'Other' }))
    for (const paused of [true, true, false]) await store.updateRelayer(id, (its) => ({ ...its, paused }))
    for (const isLow of [true, true, false, true])
      await store.noteBalance(row_id, { balance: '1', min_balance: '2', is_low: isLow })
    const bodies = (await store.events(row_id, 0, 100)).map(({ sequence, body }) => [
      sequence,
      JSON.parse(body).payload,
    ])
    expect(bodies.map(([sequence, payload]) => [sequence, payload.payload_type])).toEqual([
      [1, 'relayer_disabled'],
      [2, 'relayer_enabled'],
      [3, 'relayer_low_balance'],
      [4, 'relayer_low_balance'],
    ])
    expect(await store.lastEvent(row_id)).toBe(4)
    const target = (await store.targetRowId(hook)) as number
    expect((await store.listDeliveries(target, { offset: 0, limit: 10 }, [])).total_items).toBe(4)
  })

  test('moves the generation with changes of cached rows, but not with refused ones and those of notifications', async () => {
    const { store } = opened()
    const moves = async (work: () => Promise<unknown>) => {
      const before = await store.generation()
      await work()
      return (await store.generation()) - before
    }
    const { id, network } = await addRelayer({ store })
    const hook = notificationOf(unique('hook'))
    expect([
      await moves(() => store.createNetwork(networkOf(unique('n')))),
      await moves(() => store.createNetwork(networkOf(network))),
      await moves(() => store.updateRelayer(id, (its) => ({ ...its, paused: true }))),
      await moves(() => store.deleteNetwork(`evm:${network}`)),
      await moves(() => store.createNotification(hook)),
      await moves(() => store.updateNotification(hook.id, { url: 'https://b.example.com', former_until: 1 })),
    ]).toEqual([1, 0, 1, 0, 0, 0])
  })

  test('applies all concurrent changes of one relayer', async () => {
    const { store } = opened()
    const { id } = await addRelayer({ store }, { name: '' })
    await Promise.all(
      Array.from({ length: 30 }, () => store.updateRelayer(id, (its) => ({ ...its, name: `${its.name}x` }))),
    )
    expect((await store.getRelayer(id))?.name).toBe('x'.repeat(30))
  })

  test('lets one of many concurrent creations succeed', async () => {
    const { store } = opened()
    const [name, hook] = [unique('n'), unique('hook')]
    const networks = await Promise.all(Array.from({ length: 20 }, () => store.createNetwork(networkOf(name))))
    expect(networks.filter((isMade) => isMade)).toHaveLength(1)
    const hooks = await Promise.all(Array.from({ length: 20 }, () => store.createNotification(notificationOf(hook))))
    expect(hooks.filter((outcome) => typeof outcome === 'object')).toHaveLength(1)
  })

  test('notifications: hides keys, signs with a replaced key for a while, and shows creators their own', async () => {
    const { store } = opened()
    const [id, creator] = [unique('hook'), unique('key')]
    const signingKey = Buffer.from('first')
    expect(
      await store.createNotification(
        notificationOf(id, { signing_key: signingKey, created_by: creator }),
        undefined,
        1,
      ),
    ).toMatchObject({ type: 'webhook' })
    expect(await store.createNotification(notificationOf(unique('hook'), { created_by: creator }), undefined, 1)).toBe(
      'too_many',
    )
    expect(await store.createNotification(notificationOf(id))).toBe('id_taken')
    const [revision, createdAt] = [expect.any(String), expect.any(String)]
    const shown = {
      id,
      type: 'webhook',
      url: 'https://hooks.example.com/a',
      has_signing_key: true,
      filter: null,
      revision,
      created_at: createdAt,
    }
    expect([await store.getNotification(id), await store.getNotification(id, 'other')]).toEqual([shown, undefined])
    expect(await store.listNotifications({ offset: 0, limit: 5 }, creator)).toEqual({ items: [shown], total_items: 1 })
    const rowId = (await store.targetRowId(id, creator)) as number
    expect([await store.targetRowId(id, 'other'), await store.targetRowId('none')]).toEqual([undefined, undefined])

    const change = (changes: object, by?: string) =>
      store.updateNotification(id, { former_until: 9, ...changes }, { creator: by })
    expect([await change({ url: 'https://b.example.com' }, 'other'), await change({})]).toEqual([undefined, shown])
    expect(await change({ signing_key: Buffer.from('second') }, creator)).toEqual(shown)
    const keys = async () => {
      const {
        signing_key: key,
        former_key,
        former_until,
      } = (await store.getTarget(rowId)) as NonNullable<Awaited<ReturnType<typeof store.getTarget>>>
      return [key && Buffer.from(key).toString(), former_key && Buffer.from(former_key).toString(), former_until]
    }
    expect(await keys()).toEqual(['second', 'first', 9])
    expect(await change({ signing_key: null, url: 'https://c.example.com' })).toEqual({
      ...shown,
      url: 'https://c.example.com',
      has_signing_key: false,
    })
    expect(await keys()).toEqual([null, null, null])
    await change({ signing_key: Buffer.from('third') })
    expect(await keys()).toEqual(['third', null, null])
    expect([await store.deleteNotification(id, { creator: 'other' }), await store.deleteNotification(id)]).toEqual([
      'missing',
      'deleted',
    ])
    expect(await store.getTarget(rowId)).toBeUndefined()
  })

  test('commits an audit entry with each change, and none with a refused one', async () => {
    const { store } = opened()
    const entry = { at: 1, caller: 'environment', relayer_id: null, subject: null, http_status: 200, request_id: null }
    const [accepted, refused] = [
      { ...entry, operation: 'createNetwork', recorded: false },
      { ...entry, operation: 'createNetwork', recorded: false },
    ]
    const network = networkOf(unique('n'))
    await store.createNetwork(network, accepted)
    await store.createNetwork(network, refused)
    expect([accepted.recorded, refused.recorded]).toEqual([true, false])
  })
})
