import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { openPostgresStore, type PostgresStore } from '../../../server/store/postgres.ts'
import { openSqliteStore } from '../../../server/store/sqlite.ts'
import type { StoreWorld } from '../../../server/store/store-world.ts'
import { newDatabase } from '../../support/postgres.ts'

export interface OpenedStore {
  store: PostgresStore
  /** The wall clock of the store, which stands still. */
  clock: { ms: number }
}

interface Opened extends OpenedStore {
  remove(): unknown
}

const start = Date.parse('2026-01-01T00:00:00.000Z')

function testWorld() {
  const clock = { ms: start }
  let ids = 0
  const world: StoreWorld = {
    now: () => clock.ms,
    makeId: () => {
      ids += 1
      return `id-${ids}`
    },
    checkEvent: () => undefined,
    showRelayer: (relayer) => relayer,
  }
  return { clock, world }
}

async function openSqlite(): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-store-'))
  const { clock, world } = testWorld()
  const store = openSqliteStore(join(folder, 'a.sqlite'), world)
  return { store, clock, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

async function openPostgres(): Promise<Opened> {
  const { url, drop } = await newDatabase()
  const { clock, world } = testWorld()
  const store = await openPostgresStore({ url, max_connections: 10, allow_weak: [] }, world)
  return { store, clock, remove: drop }
}

/**
 * Runs the same cases against every store. All cases of a file share one database: they use ids of their own. Put one `onEveryStore` in
 * a file, so that files run at the same time.
 */
export function onEveryStore(cases: (opened: () => OpenedStore) => void): void {
  for (const [name, open] of [
    ['SQLite', openSqlite],
    ['PostgreSQL', openPostgres],
  ] as const) {
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
