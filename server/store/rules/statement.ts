export type Value = string | number | bigint | null | Uint8Array | readonly (string | number | Uint8Array | null)[]
export type Values = Readonly<Record<string, Value>>

export type Engine = 'sqlite' | 'postgres'

/** A statement with parameters of the form `$name`, in the words of each database. */
export interface Statement<Row extends object> {
  text: Readonly<Record<Engine, string>>
  /** Only its type is used. */
  readonly row?: Row
}

/**
 * A statement of the rules. One text serves both databases where it uses what both have. It is written for PostgreSQL; for SQLite, the
 * casts of parameters and the locks of rows (FOR UPDATE) are left out, and `= ANY ($list::type[])` is a list in JSON (sqlite/session.ts).
 * `Row`: the type of the rows that it returns; absent: none. A condition in the column list is 0 or 1 in SQLite, and a boolean in
 * PostgreSQL: its type is `Truth`.
 */
export function sql<Row extends object = Record<never, never>>(
  text: string | ((engine: Engine) => string) | Statement<Row>['text'],
): Statement<Row> {
  if (typeof text === 'string') return { text: { sqlite: text, postgres: text } }
  return { text: typeof text === 'function' ? { sqlite: text('sqlite'), postgres: text('postgres') } : text }
}

export type Truth = boolean | 0 | 1

/** The functions for the greatest and the least of some values, none of which is NULL. */
export const greatest: Record<Engine, string> = { sqlite: 'max', postgres: 'greatest' }
export const least: Record<Engine, string> = { sqlite: 'min', postgres: 'least' }

/** After the name of a table: the index to use. PostgreSQL takes no such hint; SQLite would choose an index of all rows. */
export const indexedBy: Record<Engine, (index: string) => string> = {
  sqlite: (index) => ` INDEXED BY ${index}`,
  postgres: () => '',
}
