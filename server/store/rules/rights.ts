import type { RightsFault, RightsGuard } from '../../core/rows.ts'
import type { RightsReports } from '../rights-reports.ts'
import type { RightsSeal } from '../rights-seal.ts'
import { distrusted, faultOf, type RightsTables, withoutSeal } from '../rights-state.ts'
import type { RightsTable, SealedRow } from '../rights-tables.ts'
import { contentAsText, type StoredRow } from './rights-rows.ts'
import type { Transaction } from './session.ts'

export type Trusted<R extends StoredRow> = Omit<R, Exclude<keyof SealedRow, 'row_id'>>

/** The check of rows that grant rights when they are used. `read` may be called again. */
export interface Trust {
  /** The rows that the service wrote; the others are reported. */
  trusted<R extends StoredRow>(table: RightsTable, read: () => Promise<R[]>): Promise<Trusted<R>[]>
  /** The row without its MAC. Throws ApiError (503) when it is not trusted, or does not have the requested id. */
  require<R extends StoredRow>(
    table: RightsTable,
    read: () => Promise<R | undefined>,
    id?: string,
  ): Promise<Trusted<R> | undefined>
  /** The same for several rows, all of which must be trusted. */
  requireAll<R extends StoredRow>(table: RightsTable, read: () => Promise<R[]>): Promise<Trusted<R>[]>
}

/** Changes of rows that grant rights, which get a new MAC before the commit. Before `protect`, rows carry none. */
export interface Rights extends Trust {
  /** Starts checking rows and sealing changes. Throws StoreError when the schema has triggers of other programs. */
  protect(guard: RightsGuard, report: (fault: RightsFault) => void): Promise<void>
  inserted(transaction: Transaction, table: RightsTable, row_id: number): void
  /** Must be called before the change. Throws ApiError (503) when the row is not trusted. */
  updated(transaction: Transaction, table: RightsTable, row_id: number): Promise<void>
  /** Must be called before the row is deleted. */
  deleted(transaction: Transaction, table: RightsTable, row_id: number): Promise<void>
}

/** The state of all protected rows, as a scan found it and changes of this process moved it. */
export interface Monitor {
  /** Scans again if another program may have changed rows. */
  again(seal: RightsSeal): void | Promise<void>
  of(table: RightsTable): RightsTables[RightsTable] | undefined
  /** Grows when the state changes: the same number before and after a read proves that the state is not newer than the read. */
  moves(): number
}

/** How often rows are read again that changed meanwhile. */
const max_reads = 10

/** `sealing`: undefined before `protect`, when all rows are trusted. */
export function createTrust(sealing: () => RightsSeal | undefined, monitor: Monitor, tell: RightsReports): Trust {
  async function judged<R extends StoredRow>(
    table: RightsTable,
    read: () => Promise<R[]>,
  ): Promise<{ row: R; isTrusted: boolean }[]> {
    const seal = sealing()
    if (!seal) return (await read()).map((row) => ({ row, isTrusted: true }))
    await monitor.again(seal)
    for (let reads = 1; ; reads += 1) {
      const moves = monitor.moves()
      const found = (await read()).map((row) => ({
        row,
        fault: faultOf(seal, table, contentAsText(row), monitor.of(table)),
      }))
      // The row may have been read before a change, and checked against the state after it.
      const mayBeOld = moves !== monitor.moves() && found.some(({ fault }) => fault?.reason === 'rolled back')
      if (mayBeOld && reads < max_reads) continue
      tell(found.flatMap(({ fault }) => fault ?? []))
      return found.map(({ row, fault }) => ({ row, isTrusted: fault === undefined }))
    }
  }

  return {
    async trusted(table, read) {
      const found = await judged(table, read)
      return found.filter(({ isTrusted }) => isTrusted).map(({ row }) => unsealed(row))
    },
    async require(table, read, id) {
      const [found] = await judged(table, async () => {
        const row = await read()
        return row ? [row] : []
      })
      if (!found) return undefined
      if (!found.isTrusted || (id !== undefined && found.row.id !== id)) throw distrusted()
      return unsealed(found.row)
    },
    async requireAll(table, read) {
      const found = await judged(table, read)
      if (found.some(({ isTrusted }) => !isTrusted)) throw distrusted()
      return found.map(({ row }) => unsealed(row))
    },
  }
}

const unsealed = <R extends StoredRow>(row: R): Trusted<R> => withoutSeal(row)
