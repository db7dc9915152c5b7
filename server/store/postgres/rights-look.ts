import { ApiError } from '../../errors.ts'
import type { RightsReports } from '../rights-reports.ts'
import type { RightsChange, RightsSeal } from '../rights-seal.ts'
import { follow, type RightsTables } from '../rights-state.ts'
import type { RightsTable } from '../rights-tables.ts'
import { scanRights } from './rights-scan.ts'
import type { Snapshot } from './snapshot.ts'

/** The pause after a scan: 50 times its duration, at least 1 s after a new generation of another program, and 5 s otherwise. */
const pause_factor = 50
const least_pause_ms = 1_000
const longest_pause_ms = 5_000

/**
 * The state of all protected rows. It follows the changes of this server; scans of all rows, while rows are used, find the changes of
 * others. `foreign`: changes with a new generation of another program.
 */
export function createLook(snapshot: Snapshot, foreign: () => number, tell: RightsReports) {
  let tables: RightsTables | undefined
  let follows = 0
  /** The changes of this server during a scan. */
  let sinceLook: RightsChange[] | undefined
  let looking: Promise<void> | undefined
  let foreignAtLook = 0
  let [next_ms, late_ms] = [0, 0]

  async function look(seal: RightsSeal): Promise<void> {
    const started_ms = performance.now()
    foreignAtLook = foreign()
    sinceLook = []
    try {
      const state = await snapshot((session) => scanRights(session, seal, tables))
      tables = state.tables
      tell(state.faults)
    } finally {
      if (tables) follow(tables, sinceLook)
      sinceLook = undefined
      const ended_ms = performance.now()
      next_ms = ended_ms + Math.max(least_pause_ms, pause_factor * (ended_ms - started_ms))
      late_ms = Math.max(next_ms, ended_ms + longest_pause_ms)
    }
  }

  const reported = (error: unknown) => {
    // The database is away: the next use scans again.
    if (error instanceof ApiError) return
    tell([{ table: 'all', id: null, reason: `the scan of all rows failed: ${(error as Error).message}` }])
  }

  return {
    first: look,
    /** Scans if it is time; waits for the scan when another program has made a new generation. */
    async again(seal: RightsSeal): Promise<void> {
      const now_ms = performance.now()
      const isForeign = foreign() !== foreignAtLook
      if (looking === undefined && now_ms >= (isForeign ? next_ms : late_ms)) {
        looking = look(seal)
          .catch(reported)
          .finally(() => {
            looking = undefined
          })
      }
      if (isForeign) await looking
    },
    of: (table: RightsTable) => tables?.[table],
    /** How often the state has followed a change: the same number before and after a read proves that none came in between. */
    follows: () => follows,
    /** Applies the committed changes of a database transaction of this server; version 0: deleted. */
    follow(changes: RightsChange[]): void {
      follows += 1
      if (sinceLook) sinceLook.push(...changes)
      else if (tables) follow(tables, changes)
    },
    ended: async () => looking,
  }
}
