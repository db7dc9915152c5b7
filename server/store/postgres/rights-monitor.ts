import { ApiError } from '../../core/errors.ts'
import type { RightsReports } from '../rights-reports.ts'
import type { RightsChange, RightsSeal } from '../rights-seal.ts'
import { follow, type RightsTables } from '../rights-state.ts'
import type { RightsTable } from '../rights-tables.ts'
import { scanRights } from '../rules/rights-scan.ts'
import type { Snapshot } from './snapshot.ts'

/** The pause after a scan: 50 times its duration, at least 1 s after a new generation of another program, and 5 s otherwise. */
const pause_factor = 50
const least_pause_ms = 1_000
const longest_pause_ms = 5_000

export interface MonitorDependencies {
  snapshot: Snapshot
  /** A generation that was read once distinguishes those of other programs from those of this server. */
  readGeneration(): Promise<unknown>
  /** Changes with a new generation of another program. */
  foreign(): number
  /** Called when a scan has found faults: rows that were trusted before, and are cached, may be refused now. */
  doubt(): void
}

/**
 * The state of all protected rows. It follows the changes of this server; scans of all rows find the changes of others: while rows are
 * used, and once after each new generation of another program.
 */
export function createMonitor({ snapshot, foreign, doubt }: MonitorDependencies, tell: RightsReports) {
  let tables: RightsTables | undefined
  let moves = 0
  /** The changes of this server during a scan. */
  let sinceScan: RightsChange[] | undefined
  let scanning: Promise<void> | undefined
  let foreignAtScan = 0
  let [next_ms, late_ms] = [0, 0]
  let timer: NodeJS.Timeout | undefined

  async function scan(seal: RightsSeal): Promise<void> {
    const started_ms = performance.now()
    foreignAtScan = foreign()
    sinceScan = []
    try {
      const state = await snapshot((session) => scanRights(session, seal, tables))
      tables = state.tables
      moves += 1
      tell(state.faults)
      if (state.faults.length > 0) doubt()
    } finally {
      if (tables) follow(tables, sinceScan)
      sinceScan = undefined
      const ended_ms = performance.now()
      next_ms = ended_ms + Math.max(least_pause_ms, pause_factor * (ended_ms - started_ms))
      late_ms = Math.max(next_ms, ended_ms + longest_pause_ms)
    }
  }

  function start(seal: RightsSeal): void {
    clearTimeout(timer)
    timer = undefined
    scanning ??= scan(seal)
      .catch(reported)
      .finally(() => {
        scanning = undefined
        if (isForeign()) later(seal)
      })
  }

  const isForeign = () => foreign() !== foreignAtScan

  /** Rows that are read now may be cached until the next generation, and no later use would scan. */
  function later(seal: RightsSeal): void {
    timer ??= setTimeout(start, next_ms - performance.now(), seal).unref()
  }

  const reported = (error: unknown) => {
    // The database is down: the next use scans again.
    if (error instanceof ApiError) return
    tell([{ table: 'all', id: null, reason: `the scan of all rows failed: ${(error as Error).message}` }])
  }

  return {
    first: scan,
    /** Scans if it is time, or later; waits for the scan when another program has made a new generation. */
    async again(seal: RightsSeal): Promise<void> {
      const [its, now_ms] = [isForeign(), performance.now()]
      if (now_ms >= (its ? next_ms : late_ms)) start(seal)
      else if (its && !scanning) later(seal)
      if (its) await scanning
    },
    of: (table: RightsTable) => tables?.[table],
    /** Grows when the state changes: the same number before and after a read proves that the state is not newer than the read. */
    moves: () => moves,
    /** Applies the committed changes of a database transaction of this server; version 0: deleted. */
    follow(changes: RightsChange[]): void {
      moves += 1
      if (sinceScan) sinceScan.push(...changes)
      else if (tables) follow(tables, changes)
    },
    async ended() {
      await scanning
      clearTimeout(timer)
    },
  }
}
