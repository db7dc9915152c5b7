import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { history, steps } from './conformance/history.ts'
import { type PlantedRelayer, plantRelayer } from './conformance/relayers.ts'
import { openStores } from './conformance/stores.ts'

// As plans.test.ts, for SQLite: its planner knows no sizes of tables, so a statement must have an index that narrows it.

/** Tables that grow with the number of transactions. */
const large =
  'transactions|transaction_data|attempts|idempotency|events|deliveries|delivery_attempts|spending|accounts|audit'
/** Reads the whole table, or all transactions of a chain. */
const newest = /ORDER BY (?:row_id|up_to) DESC LIMIT 1\b/
const whole = new RegExp(`^SCAN (?:${large})$|^SEARCH transactions .*\\(chain_id=\\?\\)$`)

test('reads no large table as a whole with any statement', async () => {
  const texts = new Set<string>()
  const original = Database.prototype.prepare
  Reflect.set(Database.prototype, 'prepare', function record(this: Database.Database, text: string) {
    texts.add(text)
    return original.call(this, text)
  })
  onTestFinished(() => void Reflect.set(Database.prototype, 'prepare', original))
  const opened = await openStores.SQLite()
  onTestFinished(async () => {
    await opened.store.close()
    await opened.remove()
  })
  const { store, clock } = opened
  const relayers = [await plantRelayer(opened, 1), await plantRelayer(opened, 2), await plantRelayer(opened, 3)]
  const next = history(1)
  for (let step = 0; step < steps; step += 1) {
    clock.ms += 1_000
    await next()(opened, relayers).catch((error: Error) => error)
  }
  const [{ row_id }] = relayers as [PlantedRelayer]
  await store.usage({ chain_id: 1, holder: 'sponsorship 1', asset: 'fee', limit: '1' })
  await store.listTransactions(row_id, { offset: 0, limit: 20 }, { status: ['failed'] })
  await store.search('ref-10', { relayer_ids: undefined, signers: true, notifications: 'all' })
  await store.readGauges(clock.ms)

  const statements = [...texts].filter((text) => /^\s*(?:WITH|SELECT|UPDATE|DELETE)\b/i.test(text))
  expect(statements.length).toBeGreaterThan(80)
  const plans = await Promise.all(
    statements.map(async (text) => {
      const rows = await opened.rows<{ detail: string }>(`EXPLAIN QUERY PLAN ${text.replace(/\$\w+|\?/g, '1')}`)
      const isNewest = newest.test(text)
      return rows
        .filter(({ detail }) => whole.test(detail) && !(isNewest && detail.startsWith('SCAN')))
        .map(({ detail }) => `${detail}: ${text.trim()}`)
    }),
  )
  expect(plans.flat()).toEqual([])
})
