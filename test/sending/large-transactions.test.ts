import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { NewTransaction } from '../../server/domain/new-transaction.ts'
import { openSqliteStore } from '../../server/store/sqlite.ts'
import { temporaryFolder } from '../support/service.ts'

const count = 24
const data = `0x${'ab'.repeat(128_000)}`
const address = `0x${'11'.repeat(20)}`

/** A store with a relayer, and how many database transactions were committed. */
async function openWithRelayer() {
  const commits = { count: 0 }
  const store = openSqliteStore(join(temporaryFolder(), 'a.sqlite'), {
    now: Date.now,
    makeId: () => crypto.randomUUID(),
    checkEvent: () => undefined,
    observer: {
      committed() {
        commits.count += 1
      },
    },
  })
  onTestFinished(() => store.close())
  await store.createNetwork({
    id: 'evm:local',
    name: 'local',
    network_type: 'evm',
    chain_id: 31_337,
    rpc_urls: [],
    symbol: null,
    required_confirmations: 1,
    average_blocktime_ms: null,
    is_testnet: true,
    explorer_urls: [],
    features: [],
    tags: [],
    private_rpc_urls: [],
    submission: { mode: 'public', after_blocks: null },
    min_priority_fee_per_gas: null,
    min_gas_price: null,
    coin_token: null,
  })
  await store.createSigner({ id: 's', type: 'local', address, secret: new Uint8Array() })
  const relayer = await store.createRelayer({
    id: 'r',
    name: 'r',
    network: 'local',
    network_type: 'evm',
    paused: false,
    signer_id: 's',
    notification_ids: [],
    policies: {},
    custom_rpc_urls: [],
    system_disabled: false,
    disabled_reason: null,
  })
  if (typeof relayer === 'string') throw new Error(relayer)
  const wanted = (id: string): NewTransaction => ({
    ...{
      id,
      network: 'local',
      relayer_row_id: relayer.row_id,
      relayer_id: 'r',
      chain_id: 31_337,
      from: address,
      to: address,
      value: '1',
      data,
    },
    gas_limit: 1,
    gas_price: '1',
    max_fee_per_gas: null,
    max_priority_fee_per_gas: null,
    speed: null,
    valid_until: null,
    intent: 'send',
    type: 0,
    status_reason: null,
  })
  return { store, relayer, commits, wanted }
}

test('reads unfinished transactions without their data, and writes them in batches between which other work runs', async () => {
  const { store, relayer, commits, wanted } = await openWithRelayer()
  await Promise.all(Array.from({ length: count }, (_, index) => store.createTransaction(wanted(`t${index}`))))
  const rows = await store.pending(relayer.row_id, { from: 0, below: count }, 1_000)
  expect(rows.map(({ id, data_bytes }) => [id, data_bytes])).toEqual(
    Array.from({ length: count }, (_, index) => [`t${index}`, 128_000]),
  )
  expect(JSON.stringify(rows).length, 'all of them').toBeLessThan(count * 2_000)
  expect(await store.dataOf(rows[0]?.row_id as number)).toBe(data)

  commits.count = 0
  const attempt = (number: number) => ({
    ...{
      number: 1,
      purpose: 'send' as const,
      content_hash: '',
      sig: '',
      nonce: number,
      hash: `0x${number}`,
      raw: new Uint8Array(128_000),
    },
    ...{ gas_limit: 1, gas_price: '1', max_fee_per_gas: null, max_priority_fee_per_gas: null },
  })
  const moved = await store.move(
    rows.map(({ row_id, revision }, index) => ({
      ...{ row_id, revision, set: { status: 'sent' as const } },
      attempt: attempt(index),
    })),
  )
  expect(moved.map((row) => row?.status)).toEqual(rows.map(() => 'sent'))
  // Each signed version holds 128 KB.
  expect(commits.count).toBeGreaterThanOrEqual(count / 8)

  let after = 0
  const told: number[] = []
  while (told.length < 2 * count) {
    const events = await store.events(relayer.row_id, after, 100)
    expect(events.length).toBeLessThanOrEqual(2)
    told.push(...events.map(({ sequence }) => sequence))
    after = told.at(-1) as number
  }
  expect(told).toEqual(Array.from({ length: 2 * count }, (_, index) => index + 1))
})
