import { ApiError } from '../core/errors.ts'
import type { RightsFault } from '../core/rows.ts'
import { emptySums, type Manifest, type RightsChange, type RightsSeal, toggle } from './rights-seal.ts'
import { type RightsTable, rightsTables, type SealedRow } from './rights-tables.ts'

const block_rows = 4_096

/**
 * The version of each row of a table, by row id; 0: no such row. The versions stand in blocks of numbers: a Map of a million rows
 * takes five times the memory, and stops the process for tens of milliseconds whenever it grows.
 */
export function createRowVersions() {
  const blocks = new Map<number, Float64Array>()

  return {
    get: (row_id: number): number => blocks.get(Math.floor(row_id / block_rows))?.[row_id % block_rows] ?? 0,
    set(row_id: number, version: number): void {
      const number = Math.floor(row_id / block_rows)
      let block = blocks.get(number)
      if (!block) {
        block = new Float64Array(block_rows)
        blocks.set(number, block)
      }
      block[row_id % block_rows] = version
    },
  }
}

export type RowVersions = ReturnType<typeof createRowVersions>

/**
 * By table: the version of each row, and the rows that the manifest matches: `all`, only the `genuine` ones (another program added
 * rows), or `neither` (rows were rolled back or removed).
 */
export type RightsTables = Record<RightsTable, { versions: RowVersions; counted: 'all' | 'genuine' | 'neither' }>

/** The result of a scan of all protected rows. */
export interface RightsState {
  tables: RightsTables
  faults: RightsFault[]
}

export type NamedRow = SealedRow & { id: string }

const max_faults = 100

/** Judges all protected rows, table by table. `known`: the result of the previous scan. */
export function createScan(seal: RightsSeal, manifest: Manifest | undefined, known: RightsTables | undefined) {
  const [all, genuine] = [emptySums(), emptySums()]
  const faults: RightsFault[] = []
  const versions = Object.fromEntries(rightsTables.map((table) => [table, createRowVersions()])) as Record<
    RightsTable,
    RowVersions
  >

  return {
    add(table: RightsTable, row: NamedRow): void {
      const isGenuine = seal.isGenuine(table, row)
      const isNewest = row.rights_version >= (known?.[table].versions.get(row.row_id) ?? 0)
      const element = seal.element(table, row.row_id, row.rights_version)
      toggle(all[table], element)
      if (isGenuine) {
        toggle(genuine[table], element)
        versions[table].set(row.row_id, row.rights_version)
        if (isNewest) return
      }
      if (faults.length < max_faults) faults.push({ table, id: row.id, reason: isGenuine ? 'rolled back' : 'changed' })
    },
    end(): RightsState {
      const tables = rightsTables.map((table) => {
        const sum = manifest?.sums[table]
        const counted = sum?.equals(all[table]) ? 'all' : sum?.equals(genuine[table]) ? 'genuine' : 'neither'
        if (counted === 'neither') faults.push(missing(table))
        return [table, { versions: versions[table], counted }]
      })
      return { tables: Object.fromEntries(tables), faults }
    },
  }
}

/** The fault of a row that is used; undefined when the service wrote it. `known`: the result of the scan of its table. */
export function faultOf(
  seal: RightsSeal,
  table: RightsTable,
  row: NamedRow,
  known: RightsTables[RightsTable] | undefined,
): RightsFault | undefined {
  if (known === undefined || known.counted === 'neither') return missing(table)
  const isGenuine = seal.isGenuine(table, row)
  const isNewest = row.rights_version >= known.versions.get(row.row_id)
  if (isGenuine && isNewest) return undefined
  return { table, id: row.id, reason: isGenuine ? 'rolled back' : 'changed' }
}

/** Applies the committed changes of this server; version 0: deleted. */
export function follow(tables: RightsTables, changes: RightsChange[]): void {
  for (const { table, row_id, version } of changes) tables[table].versions.set(row_id, version)
}

/** The change that a deletion of a row is. The manifest does not count a row that another program added. */
export function deletionOf(
  seal: RightsSeal,
  table: RightsTable,
  row: NamedRow,
  known: RightsTables[RightsTable] | undefined,
): RightsChange {
  const isCounted = seal.isGenuine(table, row) || known?.counted !== 'genuine'
  return { table, row_id: row.row_id, version: isCounted ? row.rights_version : 0 }
}

/** The row without its MAC. */
export function withoutSeal<R extends Record<keyof SealedRow, unknown>>(
  row: R,
): Omit<R, Exclude<keyof SealedRow, 'row_id'>> {
  const { rights_version: _, rights_mac: __, rights_content: ___, ...rest } = row
  return rest
}

const missing = (table: RightsTable): RightsFault => ({
  table,
  id: null,
  reason: 'rows are missing or rolled back',
})

/** Only the log names the row, because the caller may not have the right to see it. */
export const distrusted = () =>
  new ApiError('unavailable', 'Service Unavailable', [
    {
      path: 'store',
      message: 'Rows of the database were changed by another program than this service; its log names them',
    },
  ])
