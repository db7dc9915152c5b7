import Database from 'better-sqlite3'
import type { RightsReports } from './rights-reports.ts'
import { type RightsState, scanNow, scanRights } from './rights-scan.ts'
import type { RightsSeal } from './rights-seal.ts'
import type { RightsTable } from './rights-tables.ts'

/** A protected row that a database transaction changes. `version`: before it; 0: none. */
export interface RightsChange {
  table: RightsTable
  key: number
  version: number
}

export type RightsLook = ReturnType<typeof createLook>

/** A look that took so many milliseconds is followed by a pause 50 times as long, and of 1 s at least. */
const least_pause_ms = 1_000
const pause_factor = 50

/**
 * The state of all protected rows: it follows the changes of this connection, and a look at all rows finds the changes of others.
 * `version`: moves when another connection has committed.
 */
export function createLook(db: Database.Database, file: string, version: () => number, tell: RightsReports) {
  let state: RightsState | undefined
  /** The changes of this connection while a look is under way; version 0: deleted. */
  let sinceLook: RightsChange[] | undefined
  let lookedAt: number | undefined
  let nextLook_at = 0
  let timer: NodeJS.Timeout | undefined
  let reader: Database.Database | undefined

  function apply(known: RightsState, done: RightsChange[]): void {
    for (const { table, key, version } of done) {
      const { versions } = known.tables[table]
      if (version > 0) versions.set(key, version)
      else versions.delete(key)
    }
  }

  /** Looks at all rows when another connection has committed: at once where there are few, else in steps beside other work. */
  function lookAgain(seal: RightsSeal): void {
    if (sinceLook || timer || version() === lookedAt) return
    const wait_ms = nextLook_at - performance.now()
    if (wait_ms > 0) {
      timer = setTimeout(() => {
        timer = undefined
        lookAgain(seal)
      }, wait_ms).unref()
      return
    }
    const started_at = performance.now()
    lookedAt = version()
    sinceLook = []
    reader ??= new Database(file, { readonly: true })
    reader.exec('BEGIN')
    const steps = scanRights(reader, seal, state)
    const end = () => {
      reader?.exec('COMMIT')
      sinceLook = undefined
      nextLook_at = performance.now() + Math.max(least_pause_ms, pause_factor * (performance.now() - started_at))
    }
    const advance = () => {
      if (!reader?.open) return
      try {
        const step = steps.next()
        if (!step.done) return void setImmediate(advance)
        apply(step.value, sinceLook ?? [])
        state = step.value
        end()
        tell(step.value.faults)
      } catch (error) {
        end()
        lookedAt = undefined
        tell([{ table: 'all', id: null, reason: `the look at all rows failed: ${(error as Error).message}` }])
      }
    }
    advance()
  }

  return {
    /** The first look, at once. Inside a database transaction. */
    first(seal: RightsSeal): void {
      lookedAt = version()
      state = scanNow(db, seal, undefined)
      tell(state.faults)
    },
    again: lookAgain,
    of: (table: RightsTable) => state?.tables[table],
    /** The changes of a database transaction of this connection were committed; version 0: deleted. */
    follow(changes: RightsChange[]): void {
      if (sinceLook) sinceLook.push(...changes)
      else if (state) apply(state, changes)
    },
    close() {
      clearTimeout(timer)
      reader?.close()
    },
  }
}
