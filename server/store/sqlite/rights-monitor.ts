import Database from 'better-sqlite3'
import { nextTurn } from '../../next-turn.ts'
import type { RightsReports } from '../rights-reports.ts'
import type { RightsChange, RightsSeal } from '../rights-seal.ts'
import { follow, type RightsState } from '../rights-state.ts'
import type { RightsTable } from '../rights-tables.ts'
import { limitCache } from './open-database.ts'
import { scanNow, scanRights } from './rights-scan.ts'

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
    const started_at = performance.now()
    scannedAt = version()
    sinceScan = []
    reader ??= openReader(file)
    reader.exec('BEGIN')
    const steps = scanRights(reader, seal, state)
    const end = () => {
      reader?.exec('COMMIT')
      sinceScan = undefined
      nextScan_at = performance.now() + Math.max(least_pause_ms, pause_factor * (performance.now() - started_at))
    }
    const advance = () => {
      if (!reader?.open) return
      try {
        const step = steps.next()
        if (!step.done) return void nextTurn().then(advance)
        follow(step.value.tables, sinceScan ?? [])
        state = step.value
        end()
        tell(step.value.faults)
      } catch (error) {
        end()
        scannedAt = undefined
        tell([{ table: 'all', id: null, reason: `the scan of all rows failed: ${(error as Error).message}` }])
      }
    }
    advance()
  }

  return {
    /** The first scan, without steps. Must be called inside a database transaction. */
    first(seal: RightsSeal): void {
      scannedAt = version()
      state = scanNow(db, seal, undefined)
      tell(state.faults)
    },
    again: scanAgain,
    of: (table: RightsTable) => state?.tables[table],
    /** Applies the committed changes of a database transaction of this connection; version 0: deleted. */
    follow(changes: RightsChange[]): void {
      if (sinceScan) sinceScan.push(...changes)
      else if (state) follow(state.tables, changes)
    },
    close() {
      clearTimeout(timer)
      reader?.close()
    },
  }
}

function openReader(file: string): Database.Database {
  const reader = new Database(file, { readonly: true })
  limitCache(reader)
  return reader
}
