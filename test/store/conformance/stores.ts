import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe } from 'vitest'
import { connectClient } from '../../../server/store/postgres/pool.ts'
import { openPostgresStore } from '../../../server/store/postgres.ts'
import type { StoreDependencies } from '../../../server/store/queries/database.ts'
import { openSqliteStore } from '../../../server/store/sqlite.ts'
import type { Store } from '../../../server/store/store.ts'
import { newDatabase } from '../../support/postgres.ts'

export interface OpenedStore {
  store: Store
  /** The wall clock of the store, which stands still. */
  clock: { ms: number }
  /** Runs a statement of the test's own, which both databases understand. */
  rows<Row>(statement: string): Promise<Row[]>
  /** No bytes, as a literal of a statement. */
  no_bytes: string
  /** Statements that create and drop a trigger with the name `planted`. */
  trigger: { create: string; drop: string }
}

interface Opened extends OpenedStore {
  remove(): unknown
}

const start = Date.parse('2026-01-01T00:00:00.000Z')

function testWorld() {
  const clock = { ms: start }
  let ids = 0
  const world: StoreDependencies = {
    now: () => clock.ms,
    makeId: () => {
      ids += 1
      return `id-${ids}`
    },
    checkEvent: () => undefined,
  }
  return { clock, world }
}

async function openSqlite(): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-store-'))
  const { clock, world } = testWorld()
  const file = join(folder, 'a.sqlite')
  const store = openSqliteStore(file, world)
  const db = new Database(file)
  return {
    store,
    clock,
    no_bytes: "x''",
    trigger: {
      create: "CREATE TRIGGER planted AFTER INSERT ON watches BEGIN UPDATE relayers SET policies = '{}'; END",
      drop: 'DROP TRIGGER planted',
    },
    rows: async <Row>(statement: string) => {
      const prepared = db.prepare<[], Row>(statement)
      if (prepared.reader) return prepared.all()
      prepared.run()
      return []
    },
    remove() {
      db.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function openPostgres(): Promise<Opened> {
  const { url, drop } = await newDatabase()
  const { clock, world } = testWorld()
  const store = await openPostgresStore({ url, max_connections: 10, timeout_ms: 10_000, allow_weak: [] }, world)
  const client = await connectClient({ url })
  return {
    store,
    clock,
    no_bytes: "''",
    trigger: {
      create: 'CREATE TRIGGER planted AFTER INSERT ON watches EXECUTE FUNCTION count_changed_deliveries()',
      drop: 'DROP TRIGGER planted ON watches',
    },
    rows: async <Row>(statement: string) => (await client.query(statement)).rows as Row[],
    async remove() {
      await client.end()
      await drop()
    },
  }
}

export const openStores = { SQLite: openSqlite, PostgreSQL: openPostgres }

/**
 * Runs the same cases against every store. All cases of a file share one database: they use ids of their own. Put one `onEveryStore` in
 * a file, so that files run at the same time.
 */
export function onEveryStore(cases: (opened: () => OpenedStore) => void): void {
  for (const [name, open] of Object.entries(openStores)) {
    describe(name, () => {
      let opened: Opened | undefined
      beforeAll(async () => {
        opened = await open()
      })
      afterAll(async () => {
        await opened?.store.close()
        await opened?.remove()
      })
      cases(() => {
        if (!opened) throw new Error('The store is not open')
        return opened
      })
    })
  }
}
