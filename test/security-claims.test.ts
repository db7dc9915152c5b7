import { createHash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Transaction } from 'ethers'
import { expect, test } from 'vitest'
import { createRelayerClient } from '../client/index.ts'
import { beginning, seal } from '../server/store/queries/audit.ts'
import { checkAudit } from '../server/store/sqlite/audit.ts'
import { operations } from './support/contract.ts'
import { createRelayer, createSigner } from './support/resources.ts'
import { startTestService } from './support/service.ts'
import { columnOf, rowsOf } from './support/service-database.ts'
import { until } from './support/until.ts'

// Claims of SECURITY.md and README.md that no other test covers, and the limits that they state. When one of them fails, the document
// has to be corrected. claims.ts names the tests of all claims.

test('detects an audit trail with recomputed hashes by the log, and not without it', async () => {
  const service = await startTestService()
  for (const message of ['a', 'b', 'c']) {
    await service.client.post('/api/v1/relayers/{relayer_id}/sign', { path: { relayer_id: 'demo' }, body: { message } })
    await service.client.post('/api/v1/notifications', { body: { url: 'https://hooks.example.com' } })
  }
  await service.close()
  const db = new Database(join(service.data_dir, 'relayer.sqlite'))
  const { head } = checkAudit(db)
  db.exec(`UPDATE audit SET entries = replace(entries, 'environment', 'somebody')`)
  expect(checkAudit(db).fault).toMatch(/not what was written/)

  let before = beginning.hash
  const update = db.prepare('UPDATE audit SET hash = ? WHERE up_to = ?')
  const batches = db
    .prepare<[], { up_to: number; entries: string }>('SELECT up_to, entries FROM audit ORDER BY up_to')
    .all()
  for (const { up_to, entries } of batches) {
    before = seal(before, entries)
    update.run(before, up_to)
  }
  expect(checkAudit(db).fault).toBeUndefined()
  expect(checkAudit(db, [head]).fault).toMatch(/is not in the trail/)
  db.close()
})

const unsignedTransaction = Transaction.from({
  type: 2,
  chainId: 31_337,
  nonce: 0,
  gasLimit: 21_000,
  maxFeePerGas: 1n,
  to: `0x${'12'.repeat(20)}`,
  value: 1_000n,
}).unsignedSerialized

test('does not detect that the table of daily limits was emptied, because it carries no MAC', async () => {
  const service = await startTestService()
  const path = { relayer_id: 'demo' }
  const { data } = await service.client.patch('/api/v1/relayers/{relayer_id}', {
    path,
    body: { policies: { max_value_per_day: '1000' } },
  })
  expect(data.policies.max_value_per_day).toBe('1000')
  const spend = () =>
    service.client.post('/api/v1/relayers/{relayer_id}/sign-transaction', {
      path,
      body: { unsigned_transaction: unsignedTransaction },
    })
  await spend()
  await expect(spend()).rejects.toMatchObject({ status: 403 })
  await rowsOf(service, 'DELETE FROM spending')
  await spend()
})

test('requires a token in every operation except health and ready; its tokens have 256 random bits, and their SHA-256 is stored', async () => {
  const service = await startTestService()
  const open: string[] = []
  for (const { id, method, path } of operations) {
    const { status } = await service.raw(path.replaceAll(/\{\w+\}/g, 'demo'), {
      method: method.toUpperCase(),
      headers: {},
    })
    if (status !== 401) open.push(id)
  }
  expect(open.sort()).toEqual(['getHealth', 'getReadiness'])
  const made = () => service.client.post('/api/v1/api-keys', { body: { name: randomUUID(), scopes: ['sign'] } })
  const tokens = [(await made()).data.token, (await made()).data.token]
  const secrets = tokens.map((token) => token.slice(-43))
  for (const secret of secrets) expect(Buffer.from(secret, 'base64url').length).toBe(32)
  expect(secrets[0]).not.toBe(secrets[1])
  const stored = await columnOf<Buffer>(service, 'SELECT secret_hash FROM api_keys')
  const hashed = secrets.map((text) => createHash('sha256').update(text).digest('hex'))
  expect(stored.map((hash) => hash.toString('hex')).sort()).toEqual(hashed.sort())
})

test('finds a removed row at the next scan', async () => {
  const service = await startTestService()
  await createRelayer(service.client, { id: 'other' })
  const sign = () =>
    service.client.post('/api/v1/relayers/{relayer_id}/sign', {
      path: { relayer_id: 'demo' },
      body: { message: 'Hello' },
    })
  await sign()
  await rowsOf(service, "DELETE FROM relayers WHERE id = 'other'")
  // A new generation makes the processes reload their cached rows.
  await rowsOf(service, 'UPDATE generation SET value = value + 1')
  await until('the table is refused', async () =>
    sign().then(
      () => false,
      ({ status }) => status === 503,
    ),
  )
})

test('does not start with a view that somebody else created', async () => {
  const service = await startTestService()
  await service.close()
  await rowsOf(service, 'CREATE VIEW planted AS SELECT * FROM relayers')
  await expect(startTestService({ DATA_DIR: service.data_dir })).rejects.toThrow(/triggers or views.*planted/)
})

test('signs with another relayer on the address of a paused one', async () => {
  const service = await startTestService()
  const { client } = service
  await client.post('/api/v1/networks', {
    body: { name: 'second', network_type: 'evm', chain_id: 7, rpc_urls: ['http://127.0.0.1:9'] },
  })
  const { id: signerId } = await createSigner(client)
  const one = await createRelayer(client, { id: 'one', signer_id: signerId })
  const two = await createRelayer(client, { id: 'two', signer_id: signerId, network: 'second' })
  expect(two.address).toBe(one.address)
  await client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'one' }, body: { paused: true } })
  const sign = (relayerId: string) =>
    client.post('/api/v1/relayers/{relayer_id}/sign', { path: { relayer_id: relayerId }, body: { message: 'Hello' } })
  await expect(sign('one')).rejects.toMatchObject({ status: 403 })
  expect((await sign('two')).data.v).toBeGreaterThan(26)
})

test('stores URLs in plain text, masks those of nodes in responses, and reveals by 409 that an id is taken', async () => {
  const service = await startTestService()
  const [node, hook] = ['http://127.0.0.1:9/key-of-the-provider', 'https://hooks.example.com/?key-of-the-hook']
  const network = await service.client.post('/api/v1/networks', {
    body: { name: 'masked', network_type: 'evm', chain_id: 7, rpc_urls: [node] },
  })
  expect(JSON.stringify(network.data)).not.toContain('key-of-the-provider')
  const notification = await service.client.post('/api/v1/notifications', { body: { url: hook } })
  expect(notification.data.url).toBe(hook)
  const [urls] = await columnOf<string>(service, 'SELECT rpc_urls FROM networks WHERE chain_id = 7')
  expect(urls).toContain('key-of-the-provider')
  expect(await columnOf(service, 'SELECT url FROM notifications')).toEqual([hook])

  await service.client.post('/api/v1/notifications', { body: { id: 'taken', url: 'https://hooks.example.com' } })
  const { data } = await service.client.post('/api/v1/api-keys', {
    body: { name: 'limited', scopes: ['notifications'], relayer_ids: ['demo'] },
  })
  const other = createRelayerClient({ baseUrl: service.url, token: data.token })
  const path = { notification_id: 'taken' }
  await expect(other.get('/api/v1/notifications/{notification_id}', { path })).rejects.toMatchObject({ status: 404 })
  const body = { id: 'taken', url: 'https://hooks.example.com' }
  await expect(other.post('/api/v1/notifications', { body })).rejects.toMatchObject({ status: 409 })
})

test('takes about 180 bytes of the audit trail for a signature', async () => {
  const service = await startTestService()
  const count = 200
  await Promise.all(
    Array.from({ length: count }, (_, index) =>
      service.client.post('/api/v1/relayers/{relayer_id}/sign', {
        path: { relayer_id: 'demo' },
        body: { message: `${index}` },
      }),
    ),
  )
  await service.close()
  const [bytes = 0] = await columnOf<number>(service, 'SELECT sum(length(entries)) FROM audit')
  expect(bytes / count).toBeGreaterThan(130)
  expect(bytes / count).toBeLessThan(230)
})
