import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { Wallet } from 'ethers'
import { readPayment } from '../../server/domain/payments.ts'
import { openSqliteStore } from '../../server/store/sqlite.ts'
import { amount, anyToken, signPayment } from '../support/payments.ts'
import { type Rig, startRig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const relayers = '/api/v1/relayers/{relayer_id}'
const transactions = `${relayers}/transactions` as const
const receiver = `0x${'5a'.repeat(20)}`

/** The database of a service with rows of every table, and its master key, in `folder`. The service is stopped. */
export async function makeEveryRow(folder: string): Promise<void> {
  let deliveries = 0
  const hook = createServer((_, response) => {
    deliveries += 1
    response.writeHead(deliveries % 3 === 0 ? 410 : 204).end()
  })
  const rig = await startRig({ settings: { WEBHOOK_TIME_SCALE: '0.01', DATABASE_URL: '' } })
  try {
    await useEverything(rig, await listening(hook))
    await rig.restart(() => {
      for (const name of ['relayer.sqlite', 'master-key'])
        copyFileSync(join(dirname(rig.database_file), name), join(folder, name))
    })
  } finally {
    await rig.stop()
    hook.close()
  }
  addRareRows(join(folder, 'relayer.sqlite'))
  await pruneTrail(join(folder, 'relayer.sqlite'))
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
}

async function useEverything(rig: Rig, hookUrl: string): Promise<void> {
  const client = rig.client()
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: hookUrl, signing_key: 'first' } })
  await client.patch('/api/v1/notifications/{notification_id}', {
    path: { notification_id: 'hook' },
    body: { signing_key: 'second' },
  })
  await client.post('/api/v1/abis', {
    body: { id: 'token', network: 'local', address: receiver, abi: ['function transfer(address to, uint256 amount)'] },
  })
  // The demo relayer has no funds.
  const { data } = await client.get('/api/v1/problems', {})
  await client.problems.update(data[0]?.id as string, { acknowledgement: { minutes: 60 } })
  const filter = { events: ['relayer_disabled' as const] }
  await client.post('/api/v1/notifications', { body: { id: 'filtered', url: hookUrl, filter } })
  const account = await rig.addAccount({ policies: { max_value_per_day: `${10n ** 20n}` } })
  const path = { relayer_id: account.relayer_id }
  await client.patch(relayers, { path, body: { notification_ids: ['hook', 'filtered'] } })
  await account.send(3)
  await account.send(2, {
    data: `0x${'ab'.repeat(300)}`,
    gas_limit: 100_000,
    reference: 'with data',
  })
  await account.finished()
  await client.post(transactions, {
    path,
    header: { 'Idempotency-Key': 'known' },
    body: {
      to: receiver,
      value: '77',
      data: '0x1234',
      gas_limit: 60_000,
      metadata: { order: '7' },
      deduplication_id: 'every row',
    },
  })
  await client.post(`${transactions}/batch`, {
    path,
    header: { 'Idempotency-Key': 'known-batch' },
    body: { transactions: [{ to: receiver, value: '78' }] },
  })
  await client.post('/api/v1/pools', {
    body: {
      ...{ id: 'pool', network: 'local', relayer_ids: ['demo', account.relayer_id] },
      policies: { max_value_per_day: '1000000' },
    },
  })
  await client.post('/api/v1/pools', { body: { id: 'funded', network: 'local', relayer_ids: ['demo'] } })
  await client.put('/api/v1/pools/{pool_id}/funding', {
    path: { pool_id: 'funded' },
    body: {
      ...{ treasury_id: account.relayer_id, min_balance: '1', target_balance: '2' },
      ...{ max_amount_per_day: '3', max_fee_per_gas: '4' },
    },
  })
  await client.pools.update('pool', { weights: { demo: 0 } })
  await client.post('/api/v1/pools/{pool_id}/transactions', {
    path: { pool_id: 'pool' },
    header: { 'Idempotency-Key': 'of-the-pool' },
    body: { to: receiver, value: '79', ordering_key: 'customer' },
  })
  await client.sponsorships.create({
    ...{ id: 'game', relayer_id: account.relayer_id, targets: [{ address: receiver, selectors: ['0x12345678'] }] },
    ...{ max_gas_per_call: 100_000, max_fee_per_call: `${10n ** 16n}`, max_fee_per_day: `${10n ** 18n}` },
  })
  await client.sponsorships.sendSponsoredCall('game', { to: receiver, data: '0x12345678' })
  await rig.chain.rpc('anvil_setCode', [paidIn.token, anyToken])
  await client.facilitators.create({
    ...{
      id: 'shop',
      pool_id: 'pool',
      assets: [{ asset: paidIn.token, max_amount_per_payment: amount }],
      pay_to: paidIn.payee,
    },
    ...{ max_fee_per_payment: `${10n ** 16n}`, max_fee_per_day: `${10n ** 18n}` },
  })
  await client.facilitators.settlePayment('shop', await everyPayment())
  await client.put('/api/v1/relayers/{relayer_id}/funding', {
    path: { relayer_id: 'demo' },
    body: {
      ...{ treasury_id: account.relayer_id, min_balance: '10000', target_balance: '20000' },
      ...{ max_amount_per_day: `${10n ** 18n}`, max_fee_per_gas: `${10n ** 11n}` },
    },
  })
  await until('the demo relayer was refilled', async () => {
    const { data } = await client.get('/api/v1/relayers/{relayer_id}/funding', { path: { relayer_id: 'demo' } })
    return data.refills.some(({ is_open }) => !is_open)
  })
  await account.finished()
  // These are signed and in no block, and one is not signed.
  await rig.chain.rpc('evm_setAutomine', [false])
  const [first] = await account.send(2)
  if (first) await account.cancel(first.id)
  await until('an attempt is in the node', async () => (await account.transactions()).some(({ hash }) => hash !== null))
  await client.post('/api/v1/api-keys', {
    body: {
      name: 'limited',
      scopes: ['sign'],
      relayer_ids: ['demo', account.relayer_id],
      pool_ids: ['pool'],
      allowed_cidrs: ['10.0.0.0/8'],
    },
  })
  const { data: gone } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  await client.delete('/api/v1/signers/{signer_id}', { path: { signer_id: gone.id } })
  await client.post(`${relayers}/sign`, { path: { relayer_id: 'demo' }, body: { message: 'Hello' } })
  await until('deliveries have ended', async () => {
    const input = { path: { notification_id: 'hook' }, query: { status: ['delivered' as const] } }
    return (await client.get('/api/v1/notifications/{notification_id}/deliveries', input)).pagination.total_items > 0
  })
}

const paidIn = {
  ...{ token: `0x${'7'.repeat(40)}`, payee: receiver, chain_id: 31_337, valid_before: 4_102_444_800 },
}

/** The payment of the facilitator `shop`, always the same. */
export const everyPayment = () =>
  signPayment(new Wallet(`0x${'5a'.repeat(32)}`), paidIn, { nonce: `0x${'5a'.repeat(32)}` })

/** Its id. */
export async function everyPaymentId(): Promise<string> {
  const read = readPayment(paidIn.chain_id, await everyPayment())
  if ('reason' in read) throw new Error(read.reason)
  return read.id
}

/** Rows that live for a moment, or appear after hours. */
function addRareRows(file: string): void {
  const db = new Database(file)
  db.exec(`
    INSERT OR IGNORE INTO watches (relayer_row_id) SELECT min(row_id) FROM relayers;
    INSERT INTO signed_payments (chain_id, address, nonce, request_hash, valid_before, spent) VALUES (1, '0x', '0x', '', 4102444800, NULL);
    INSERT INTO external_transactions (chain_id, address, nonce, noticed_at) VALUES (1, '0x', 7, '2026-01-01T00:00:00.000Z');
    INSERT OR IGNORE INTO former_relayers (row_id, relayer_id) VALUES (1000000, 'gone');
    INSERT OR IGNORE INTO token_logins (token, accepted, since) VALUES ('["/module.so","relayers"]', x'0102', 1);
    INSERT OR IGNORE INTO activity_days (at, relayer_row_id, accepted) SELECT 1699920000, min(row_id), 7 FROM relayers;
    INSERT INTO former_api_keys (id, name) VALUES ('gone', 'payouts of May');
    INSERT INTO refusals (resource, id, rule, count, since, last_at, caller, reason)
      VALUES ('relayer', 'demo', 'max_value', 2, 1, 2, 'environment', 'above the limit');
    INSERT INTO incidents (at, server, severity, subject, text) VALUES (1, 'host 1', 'warning', 'host', 'It is down');
    INSERT OR IGNORE INTO believed_time (id, ms) VALUES (1, 1700000000000);
    INSERT OR IGNORE INTO bulk_changes (kind, notification_row_id, since, done_to, up_to)
      SELECT 'redeliver', row_id, '2026-01-01T00:00:00.000Z', 0, 1000 FROM notifications;`)
  db.close()
}

/** Leaves a checkpoint in place of the oldest entries of the audit trail. */
async function pruneTrail(file: string): Promise<void> {
  const store = openSqliteStore(file, {
    makeId: () => crypto.randomUUID(),
    checkEvent: () => undefined,
  })
  await store.pruneAudit(Number.MAX_SAFE_INTEGER)
  await store.close()
}
