import type Database from 'better-sqlite3'
import { StoreError } from '../store-error.ts'

/**
 * Checks after every change of the schema that the database has only the service's own triggers and views. A foreign trigger could
 * change rows within the service's statements, and the service would seal these changes. `migrations`: their text, which contains
 * the service's own triggers. The check throws StoreError.
 */
export function schemaCheck(db: Database.Database, migrations: () => string): () => void {
  const schema = db.prepare<[], { name: string; sql: string }>(
    "SELECT name, sql FROM main.sqlite_schema WHERE type IN ('trigger', 'view')",
  )
  const schemaVersion = db.prepare<[], number>('PRAGMA schema_version').pluck()
  let checkedSchema: number | undefined

  return () => {
    const current = schemaVersion.get()
    if (current === checkedSchema) return
    const own = migrations()
    const foreign = schema.all().filter(({ sql }) => !own.includes(sql))
    if (foreign.length > 0) {
      const names = foreign.map(({ name }) => name).join(', ')
      throw new StoreError(`The database has triggers or views that are not the service's: ${names}`)
    }
    checkedSchema = current
  }
}
