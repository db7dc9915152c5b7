import type { RightsFault, RightsGuard } from '../../core/rows.ts'
import { createReports } from '../rights-reports.ts'
import { type RightsChange, type RightsSeal, rightsSeal, sealChange } from '../rights-seal.ts'
import { deletionOf, distrusted, faultOf, type NamedRow, withoutSeal } from '../rights-state.ts'
import type { RightsTable, SealedRow } from '../rights-tables.ts'
import { createMonitor, type MonitorDependencies } from './rights-monitor.ts'
import { checkSchema } from './rights-schema.ts'
import { contentAsText, lockManifest, rows, type StoredSeal, setManifest, setSeal } from './rights-tables.ts'
import type { Transaction } from './session.ts'

type Row = StoredSeal & Pick<NamedRow, 'id'>
export type Trusted<R extends Row> = Omit<R, Exclude<keyof SealedRow, 'row_id'>>

/**
 * Protects rows that grant rights (API keys, relayers, networks, notifications, signers) with a MAC, as the SQLite store does. Each
 * method that changes such a row says so, in its database transaction; before the commit, changed rows get a new version and a MAC, and
 * the manifest is updated. The lock of the manifest comes after those of all rows, and before that of the audit chain.
 */
export interface Rights {
  /** Starts checking rows and sealing changes. */
  protect(guard: RightsGuard, report: (fault: RightsFault) => void): Promise<void>
  /** The rows that the service wrote; the others are reported. `read` may be called again. */
  trusted<R extends Row>(table: RightsTable, read: () => Promise<R[]>): Promise<Trusted<R>[]>
  /**
   * The row without its MAC. Throws ApiError (503) when it is not trusted, or does not have the requested id. `read` may be called
   * again.
   */
  require<R extends Row>(
    table: RightsTable,
    read: () => Promise<R | undefined>,
    id?: string,
  ): Promise<Trusted<R> | undefined>
  /** The same for several rows, all of which must be trusted. */
  requireAll<R extends Row>(table: RightsTable, read: () => Promise<R[]>): Promise<Trusted<R>[]>
  inserted(transaction: Transaction, table: RightsTable, row_id: number): void
  /** Must be called before the change. Locks the row. Throws ApiError (503) when it is not trusted. */
  updated(transaction: Transaction, table: RightsTable, row_id: number): Promise<void>
  /** Must be called before the row is deleted. */
  deleted(transaction: Transaction, table: RightsTable, row_id: number): Promise<void>
  close(): Promise<void>
}

/** How often rows are read again that changed meanwhile. */
const max_reads = 10

export function createRights(dependencies: MonitorDependencies): Rights {
  const { snapshot } = dependencies
  let sealing: RightsSeal | undefined
  const changesOf = new WeakMap<Transaction, Map<string, RightsChange>>()
  const tell = createReports()
  const monitor = createMonitor(dependencies, tell)

  async function judged<R extends Row>(
    table: RightsTable,
    read: () => Promise<R[]>,
  ): Promise<{ row: R; isTrusted: boolean }[]> {
    const seal = sealing
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

  function add(transaction: Transaction, seal: RightsSeal, change: RightsChange): void {
    const known = changesOf.get(transaction)
    const changes = known ?? new Map<string, RightsChange>()
    const name = nameOf(change)
    if (!changes.has(name)) changes.set(name, change)
    if (known) return
    changesOf.set(transaction, changes)
    transaction.beforeCommit(() => sealChanges(transaction, seal, [...changes.values()]))
  }

  async function sealChanges(transaction: Transaction, seal: RightsSeal, changes: RightsChange[]): Promise<void> {
    await checkSchema(transaction)
    const manifest = seal.openManifest((await transaction.one(lockManifest))?.sealed)
    if (!manifest) throw new Error('The manifest of the rows that grant rights is missing')
    const sealed: RightsChange[] = []
    for (const change of changes) {
      const { table, row_id } = change
      const row = await transaction.one(rows[table].one, { row_id })
      const done = sealChange(seal, manifest, change, row && contentAsText(row))
      if (done) await transaction.run(setSeal[table], { row_id, ...done })
      sealed.push({ table, row_id, version: done?.rights_version ?? 0 })
    }
    await transaction.run(setManifest, { sealed: seal.sealManifest(manifest) })
    transaction.afterCommit(() => monitor.follow(sealed))
  }

  async function change(transaction: Transaction, table: RightsTable, row_id: number, isDeletion: boolean) {
    if (!sealing || changesOf.get(transaction)?.has(nameOf({ table, row_id }))) return
    const stored = await transaction.one(rows[table].lock, { row_id })
    if (!stored) return
    const row = contentAsText(stored)
    const known = monitor.of(table)
    const fault = faultOf(sealing, table, row, known)
    if (fault) tell([fault])
    if (fault && !isDeletion) throw distrusted()
    const its = { table, row_id, version: row.rights_version }
    add(transaction, sealing, fault ? deletionOf(sealing, table, row, known) : its)
  }

  return {
    async protect(guard, report) {
      const seal = rightsSeal(guard)
      tell.to(report)
      await snapshot(checkSchema)
      await monitor.first(seal)
      sealing = seal
    },
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
    inserted(transaction, table, row_id) {
      if (sealing) add(transaction, sealing, { table, row_id, version: 0 })
    },
    updated: (transaction, table, row_id) => change(transaction, table, row_id, false),
    deleted: (transaction, table, row_id) => change(transaction, table, row_id, true),
    close: monitor.ended,
  }
}

const nameOf = ({ table, row_id }: Pick<RightsChange, 'table' | 'row_id'>) => `${table}:${row_id}`
const unsealed = <R extends Row>(row: R): Trusted<R> => withoutSeal(row)
