import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openPool } from '../../server/store/postgres/pool.ts'
import { readSnapshot } from '../../server/store/postgres/session.ts'
import { sql } from '../../server/store/queries/database.ts'
import { newDatabase } from '../support/postgres.ts'

/** Longer than a transaction that writes may wait between two statements. */
const stallMs = 3_500

test('reads one state on PostgreSQL, also when the server stalls between two statements', async () => {
  const { url, drop } = await newDatabase()
  const pool = openPool({ url, max_connections: 4, timeout_ms: 10_000 })
  onTestFinished(async () => {
    await pool.end()
    await drop()
  })
  await pool.query('CREATE TABLE counted (number int); INSERT INTO counted VALUES (1)')
  const read = sql<{ number: number }>('SELECT number FROM counted')
  const numbers = await readSnapshot({ pool, check: () => {} }, async (session) => {
    const before = await session.one(read)
    await pool.query('UPDATE counted SET number = 2')
    await pause(stallMs)
    return [before, await session.one(read)]
  })
  expect(numbers).toEqual([{ number: 1 }, { number: 1 }])
})
