import { createReports } from '../rights-reports.ts'
import { type RightsChange, type RightsSeal, rightsSeal } from '../rights-seal.ts'
import { deletionOf, distrusted, faultOf } from '../rights-state.ts'
import type { RightsTable } from '../rights-tables.ts'
import { createTrust, type Rights as RightsOfRules } from '../rules/rights.ts'
import { contentAsText, rows } from '../rules/rights-rows.ts'
import { sealChanges } from '../rules/rights-scan.ts'
import type { Session, Transaction } from '../rules/session.ts'
import { sql } from '../rules/statement.ts'
import { StoreError } from '../store-errors.ts'
import { migrations } from './migrations.ts'
import { createMonitor, type MonitorDependencies } from './rights-monitor.ts'

/** A rule of a view has the name _RETURN and the table of the view. */
const selectForeign = sql<{ name: string; source: string | null }>(`
  SELECT tgname AS name, prosrc AS source FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
    JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE NOT tgisinternal AND nspname = current_schema()
  UNION ALL
  SELECT CASE WHEN rulename = '_RETURN' THEN relname ELSE rulename END, NULL FROM pg_rewrite
    JOIN pg_class ON pg_class.oid = ev_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname = current_schema()`)

/**
 * Throws StoreError when the schema has triggers, views or rules that the service did not create, or a trigger of its own with another
 * function: they could change rows within the service's statements, and the service would seal these changes.
 */
export async function checkSchema(session: Session): Promise<void> {
  const isKnown = (part: string) => migrations.some(({ text }) => text.includes(part))
  const isOwn = ({ name, source }: { name: string; source: string | null }) =>
    source !== null && source !== '' && isKnown(`$$${source}$$`) && isKnown(`CREATE TRIGGER ${name} `)
  const foreign = (await session.all(selectForeign)).filter((its) => !isOwn(its))
  if (foreign.length === 0) return
  const names = foreign.map(({ name }) => name).join(', ')
  throw new StoreError(`The database has triggers or views that are not the service's: ${names}`)
}

/**
 * Protects rows that grant rights (API keys, relayers, pools, networks, notifications, signers) with a MAC, as the SQLite store does. Each
 * method that changes such a row says so, in its database transaction; before the commit, changed rows get a new version and a MAC, and
 * the manifest is updated. The lock of the manifest comes after those of all rows, and before that of the audit chain.
 */
export interface Rights extends RightsOfRules {
  close(): Promise<void>
}

export function createRights(dependencies: MonitorDependencies): Rights {
  const { snapshot } = dependencies
  let sealing: RightsSeal | undefined
  const changesOf = new WeakMap<Transaction, Map<string, RightsChange>>()
  const tell = createReports()
  const monitor = createMonitor(dependencies, tell)

  function add(transaction: Transaction, seal: RightsSeal, change: RightsChange): void {
    const known = changesOf.get(transaction)
    const changes = known ?? new Map<string, RightsChange>()
    const name = nameOf(change)
    if (!changes.has(name)) changes.set(name, change)
    if (known) return
    changesOf.set(transaction, changes)
    transaction.beforeCommit(async () => {
      await checkSchema(transaction)
      const sealed = await sealChanges(transaction, seal, changes.values())
      transaction.afterCommit(() => monitor.follow(sealed))
    })
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
      await dependencies.readGeneration()
      const seal = rightsSeal(guard)
      tell.to(report)
      await snapshot(checkSchema)
      await monitor.first(seal)
      sealing = seal
    },
    ...createTrust(() => sealing, monitor, tell),
    inserted(transaction, table, row_id) {
      if (sealing) add(transaction, sealing, { table, row_id, version: 0 })
    },
    updated: (transaction, table, row_id) => change(transaction, table, row_id, false),
    deleted: (transaction, table, row_id) => change(transaction, table, row_id, true),
    close: monitor.ended,
  }
}

const nameOf = ({ table, row_id }: Pick<RightsChange, 'table' | 'row_id'>) => `${table}:${row_id}`
