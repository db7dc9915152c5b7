import { expect, test } from 'vitest'
import { addRelayer, apiKeyOf, unique } from './resources.ts'
import { onEveryStore } from './stores.ts'

const hex = (bytes: Uint8Array | null | undefined) => bytes && Buffer.from(bytes).toString('hex')

onEveryStore((opened) => {
  test('creates, reads, changes and deletes an API key', async () => {
    const { store } = opened()
    const [one, other] = [await addRelayer({ store }), await addRelayer({ store })]
    const limited = apiKeyOf(unique('key'), {
      relayer_ids: [other.id, one.id],
      allowed_cidrs: ['10.0.0.0/8'],
      rate_limit: { per_second: 1, burst: 2 },
    })
    const made = await store.createApiKey(limited)
    // Relayers are listed in the order of their creation.
    const expected = { ...limited, relayer_ids: [one.id, other.id] }
    expect(made).toMatchObject({ ...expected, secret_hash: expect.anything() })
    expect(hex((await store.getApiKey(limited.id))?.secret_hash)).toBe(hex(limited.secret_hash))
    const changed = await store.updateApiKey(limited.id, { name: 'Other', relayer_ids: [] })
    expect(changed).toMatchObject({ name: 'Other', relayer_ids: [], rate_limit: limited.rate_limit })
    expect(await store.updateApiKey(limited.id, { scopes: ['read'] })).toMatchObject({
      scopes: ['read'],
      relayer_ids: [],
    })
    expect(await store.updateApiKey(limited.id, { relayer_ids: null })).toMatchObject({ relayer_ids: null })
    expect(await store.updateApiKey('none', { name: 'x' })).toBe('missing')
    expect([await store.deleteApiKey(limited.id), await store.deleteApiKey(limited.id)]).toEqual(['deleted', 'missing'])
    expect(await store.getApiKey(limited.id)).toBeUndefined()
  })

  test('reports the first unknown relayer by its index, and changes nothing', async () => {
    const { store } = opened()
    const { id: known } = await addRelayer({ store })
    const key = apiKeyOf(unique('key'), { relayer_ids: [known, 'none', 'nothing'] })
    expect(await store.createApiKey(key)).toEqual({ unknown_relayer: 1 })
    await store.createApiKey({ ...key, relayer_ids: [known] })
    expect(await store.updateApiKey(key.id, { name: 'Other', relayer_ids: ['none'] })).toEqual({ unknown_relayer: 0 })
    expect(await store.getApiKey(key.id)).toMatchObject({ name: key.name, relayer_ids: [known] })
  })

  test('keeps names apart: of many that are created at once one gets it, and a deleted key frees it', async () => {
    const { store } = opened()
    const name = unique('name')
    const all = Array.from({ length: 10 }, () => apiKeyOf(unique('key'), { name }))
    const made = await Promise.all(all.map((key) => store.createApiKey(key)))
    expect(made.filter((its) => its === 'name_taken')).toHaveLength(9)
    const [first] = made.flatMap((its) => (typeof its === 'object' && 'id' in its ? its.id : []))
    const other = apiKeyOf(unique('key'))
    await store.createApiKey(other)
    expect(await store.updateApiKey(other.id, { name })).toBe('name_taken')
    expect(await store.updateApiKey(first as string, { name, scopes: ['read'] })).toMatchObject({ name })
    await store.deleteApiKey(first as string)
    expect(await store.updateApiKey(other.id, { name })).toMatchObject({ name })
  })

  test('keeps the former secret after a rotation for the given time', async () => {
    const { store } = opened()
    const { id } = apiKeyOf(unique('key'))
    await store.createApiKey(apiKeyOf(id))
    const until = '2126-02-01T00:00:00.000Z'
    const entryOf = (byte: string) => `${byte.repeat(32)}${Date.parse(until).toString(16).padStart(16, '0')}`
    const rotated = await store.rotateApiKey(id, { secret_hash: Buffer.alloc(32, 8), previous_token_expires_at: until })
    expect([hex(rotated?.secret_hash), hex(rotated?.former_tokens), rotated?.previous_token_expires_at]).toEqual([
      '08'.repeat(32),
      entryOf('07'),
      until,
    ])
    const both = await store.rotateApiKey(id, { secret_hash: Buffer.alloc(32, 6), previous_token_expires_at: until })
    expect(hex(both?.former_tokens)).toBe(`${entryOf('08')}${entryOf('07')}`)
    const again = await store.rotateApiKey(id, { secret_hash: Buffer.alloc(32, 9), previous_token_expires_at: null })
    expect([hex(again?.secret_hash), again?.former_tokens, again?.previous_token_expires_at]).toEqual([
      '09'.repeat(32),
      null,
      null,
    ])
    expect(
      await store.rotateApiKey('none', { secret_hash: Buffer.alloc(32), previous_token_expires_at: null }),
    ).toBeUndefined()
  })

  test('lists all keys for authentication, without deleted relayers, and records their use', async () => {
    const { store } = opened()
    const [stays, goes] = [await addRelayer({ store }), await addRelayer({ store })]
    const [a, b] = [unique('key'), unique('key')]
    await store.createApiKey(apiKeyOf(a, { relayer_ids: [stays.id, goes.id] }))
    await store.createApiKey(apiKeyOf(b))
    await store.deleteRelayer(goes.id)
    await store.noteApiKeyUses(
      new Map([
        [a, '2026-03-01T00:00:00.000Z'],
        ['none', '2026-03-01T00:00:00.000Z'],
      ]),
    )
    const keys = (await store.apiKeys()).filter(({ id }) => [a, b].includes(id))
    expect(keys).toMatchObject([
      { id: a, relayer_ids: [stays.id], last_used_at: '2026-03-01T00:00:00.000Z' },
      { id: b, relayer_ids: null, last_used_at: null },
    ])
    expect(await Promise.all([a, b, 'none'].map((id) => store.apiKey(id)))).toEqual([...keys, undefined])
    const { items, total_items } = await store.listApiKeys({ offset: 0, limit: 1_000 })
    expect([items.at(-1)?.id, items.length]).toEqual([b, total_items])
  })

  test('limits keys to 1,000, also when they are created concurrently', async () => {
    const { store, rows } = opened()
    const { total_items } = await store.listApiKeys({ offset: 0, limit: 0 })
    const values = Array.from({ length: 995 - total_items }, (_, index) => `('many ${index}')`)
    await rows(`INSERT INTO api_keys (id, name, secret_hash, scopes, is_limited, pool_ids, created_at)
      SELECT number, number, secret_hash, '[]', 0, '[]', '' FROM (SELECT secret_hash FROM api_keys LIMIT 1) AS one,
        (SELECT column1 AS number FROM (VALUES ${values.join(', ')}) AS numbers) AS many`)
    const results = await Promise.all(Array.from({ length: 10 }, () => store.createApiKey(apiKeyOf(unique('key')))))
    expect(results.filter((result) => result === 'too_many')).toHaveLength(5)
  })
})
