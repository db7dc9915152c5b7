import type Database from 'better-sqlite3'
import { nextTurn } from '../../next-turn.ts'
import type { RightsReports } from '../rights-reports.ts'
import type { RightsChange, RightsSeal } from '../rights-seal.ts'
import { follow, type RightsState } from '../rights-state.ts'
import type { RightsTable } from '../rights-tables.ts'
import { scanRights } from '../rules/rights-scan.ts'
import { openReader } from './open-database.ts'
import { createSession } from './session.ts'

/** The pause after a scan: 50 times its duration, at least 1 s. */
const least_pause_ms = 1_000
const pause_factor = 50

/**
 * The state of all protected rows. It follows the changes of this connection; a scan of all rows finds the changes of others.
 * `version`: changes when another connection commits.
 */
export function createMonitor(db: Database.Database, file: string, version: () => number, tell: RightsReports) {
  let state: RightsState | undefined
  /** The changes of this connection during a scan; version 0: deleted. */
  let sinceScan: RightsChange[] | undefined
  let scannedAt: number | undefined
  let nextScan_at = 0
  let timer: NodeJS.Timeout | undefined
  let reader: Database.Database | undefined
  let moves = 0
  let starting = Promise.resolve()

  /** Scans all rows after a commit of another connection: few rows at once, more in steps between which other work runs. */
  function scanAgain(seal: RightsSeal): void {
    if (sinceScan || timer || version() === scannedAt) return
    const wait_ms = nextScan_at - performance.now()
    if (wait_ms > 0) {
      timer = setTimeout(() => {
        timer = undefined
        scanAgain(seal)
      }, wait_ms).unref()
      return
    }
    const first = Promise.withResolvers<void>()
    starting = first.promise
    void scan(seal, first.resolve)
  }

  /** `started`: called after the first step. */
  async function scan(seal: RightsSeal, started: () => void): Promise<void> {
    const started_at = performance.now()
    scannedAt = version()
    sinceScan = []
    reader ??= openReader(file)
    const session = createSession(reader)
    reader.exec('BEGIN')
    try {
      const found = await scanRights(session, seal, state?.tables, () => {
        started()
        return nextTurn()
      })
      follow(found.tables, sinceScan)
      state = found
      moves += 1
      tell(found.faults)
    } catch (error) {
      // The service has ended.
      if (!reader.open) return
      scannedAt = undefined
      tell([{ table: 'all', id: null, reason: `the scan of all rows failed: ${(error as Error).message}` }])
    } finally {
      started()
      if (reader.open) reader.exec('COMMIT')
      sinceScan = undefined
      nextScan_at = performance.now() + Math.max(least_pause_ms, pause_factor * (performance.now() - started_at))
    }
  }

  return {
    /** The first scan, without steps. Must be called inside a database transaction. */
    async first(seal: RightsSeal): Promise<void> {
      scannedAt = version()
      state = await scanRights(createSession(db), seal)
      tell(state.faults)
    },
    /** Resolves when few rows are scanned; with more, the rest is scanned while they are used. */
    again(seal: RightsSeal): Promise<void> {
      scanAgain(seal)
      return starting
    },
    of: (table: RightsTable) => state?.tables[table],
    moves: () => moves,
    /** Applies the committed changes of a database transaction of this connection; version 0: deleted. */
    follow(changes: RightsChange[]): void {
      moves += 1
      if (sinceScan) sinceScan.push(...changes)
      else if (state) follow(state.tables, changes)
    },
    close() {
      clearTimeout(timer)
      reader?.close()
    },
  }
}
