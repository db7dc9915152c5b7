import type { Session } from '../rules/session.ts'
import { sql } from '../rules/statement.ts'
import { StoreError } from '../store-error.ts'
import { migrationsText } from './migrations.ts'

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
  own ??= migrationsText()
  const known = own
  const isOwn = ({ name, source }: { name: string; source: string | null }) =>
    source !== null && source !== '' && known.includes(`$$${source}$$`) && known.includes(`CREATE TRIGGER ${name} `)
  const foreign = (await session.all(selectForeign)).filter((its) => !isOwn(its))
  if (foreign.length === 0) return
  const names = foreign.map(({ name }) => name).join(', ')
  throw new StoreError(`The database has triggers or views that are not the service's: ${names}`)
}

let own: string | undefined
