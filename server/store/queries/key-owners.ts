import { noteChanges } from '../../domain/changes.ts'
import { checkRevision, type Members, withRevision } from '../../domain/revision.ts'
import type { Conditions, NewApiKey, PendingAuditEntry } from '../../domain/rows.ts'
import { withoutSeal } from '../row-mac.ts'
import { insertApiKey, removeApiKey } from './api-keys.ts'
import { type Database, type DatabaseTransaction, type Session, type StoredSeal, sql, type Values } from './database.ts'
import { sealedColumns } from './sealed-rows.ts'

/* Resources with an API key of their own, which is made and removed with them: sponsorships and facilitators. */

type Kind = 'sponsorships' | 'facilitators'
type Owned = { row_id: number; api_key_id: string; revision: string }
type KeyOwners<Row extends { id: string }, Owner extends Owned> = ReturnType<typeof keyOwners<Row, Owner>>

/** Why one is not made. */
export type OwnerRefusal = 'id_taken' | 'unknown_relayer' | 'unknown_pool' | 'too_many_keys' | 'key_name_taken'

/** `changed`: the columns that a change writes. `read`, `encode`: from a row to a resource, and the reverse. */
export function keyOwners<Row extends { id: string }, Owner extends Owned>(
  table: Kind,
  { names, changed }: { names: string[]; changed: string[] },
  read: (row: Row) => Omit<Owner, 'revision'>,
  encode: (owner: Omit<Owner, 'row_id' | 'revision'>) => Values,
) {
  const columns = `row_id, ${names.join(', ')}`
  const by = (name: string) =>
    sql<Row & StoredSeal>(
      (engine) => `SELECT ${columns}, ${sealedColumns(engine, table)} FROM ${table} WHERE ${name} = $${name}`,
    )
  return {
    ...{ table, encode },
    by: { id: by('id'), row_id: by('row_id'), api_key_id: by('api_key_id') },
    insert: sql<{ row_id: number }>(`
      INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((name) => `$${name}`).join(', ')})
      RETURNING row_id`),
    change: sql(`UPDATE ${table} SET ${changed.map((name) => `${name} = $${name}`).join(', ')} WHERE row_id = $row_id`),
    remove: sql(`DELETE FROM ${table} WHERE row_id = $row_id`),
    list: { table, columns, read: (row: Row): Owner => withRevision(table, read(row) as Owner & Members<Kind>) },
  }
}

/** Throws DomainError (503) for a row that another program has changed. */
export async function findOwner<Row extends { id: string }, Owner extends Owned>(
  { table, by, list }: KeyOwners<Row, Owner>,
  { rights }: Database,
  session: Session,
  key: { id: string } | { row_id: number } | { api_key_id: string },
): Promise<Owner | undefined> {
  const [name] = Object.keys(key) as [keyof typeof by]
  const row = await rights.require(table, () => session.one(by[name], key), 'id' in key ? key.id : undefined)
  return row && list.read(row as Row)
}

/**
 * Makes one together with its API key, or neither. `complete`: resolves to its values, or to a word where there is something against it.
 */
export const createOwner = <Row extends { id: string }, Owner extends Owned>(
  { database, owners }: { database: Database; owners: KeyOwners<Row, Owner> },
  apiKey: NewApiKey,
  auditEntry: PendingAuditEntry | undefined,
  complete: (
    dbTransaction: DatabaseTransaction,
  ) => Promise<(Omit<Owner, 'row_id' | 'revision' | 'api_key_id'> & { id: string }) | OwnerRefusal>,
): Promise<Owner | OwnerRefusal> =>
  database.writeCached(async (dbTransaction) => {
    const { table, by, encode, insert, list } = owners
    const given = await complete(dbTransaction)
    if (typeof given === 'string') return given
    if (await dbTransaction.one(by.id, { id: given.id })) return 'id_taken'
    const key = await insertApiKey(dbTransaction, database.rights, apiKey)
    if (typeof key !== 'number') return key === 'too_many' ? 'too_many_keys' : 'key_name_taken'
    const values = encode({ ...given, api_key_id: apiKey.id } as never)
    const created = (await dbTransaction.one(insert, values)) as { row_id: number }
    database.rights.inserted(dbTransaction, table, created.row_id)
    return list.read(withoutSeal((await dbTransaction.one(by.row_id, created)) as Row & StoredSeal) as Row)
  }, auditEntry)

/** Undefined: there is none. Throws DomainError (412). */
export const updateOwner = <Row extends { id: string }, Owner extends Owned>(
  { database, owners }: { database: Database; owners: KeyOwners<Row, Owner> },
  id: string,
  changeOf: (before: Owner) => Partial<NoInfer<Owner>>,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<Owner | undefined> =>
  database.writeCached(async (dbTransaction) => {
    const { table, encode, change } = owners
    const before = (await findOwner(owners, database, dbTransaction, { id })) as (Owner & Members<Kind>) | undefined
    if (!before) return undefined
    checkRevision(table, before.revision, ifMatch)
    const after = withRevision(table, { ...before, ...changeOf(before) })
    noteChanges(auditEntry, table, before, after)
    await database.rights.updated(dbTransaction, table, before.row_id)
    await dbTransaction.run(change, { row_id: before.row_id, ...encode(after) })
    return after
  }, auditEntry)

/** Its API key is removed with it. */
export const deleteOwner = <Row extends { id: string }, Owner extends Owned>(
  { database, owners }: { database: Database; owners: KeyOwners<Row, Owner> },
  id: string,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<boolean> =>
  database.writeCached(async (dbTransaction) => {
    const row = await findOwner(owners, database, dbTransaction, { id })
    if (!row) return false
    checkRevision(owners.table, row.revision, ifMatch)
    await database.rights.deleted(dbTransaction, owners.table, row.row_id)
    await dbTransaction.run(owners.remove, { row_id: row.row_id })
    await removeApiKey(dbTransaction, database.rights, row.api_key_id)
    return true
  }, auditEntry)
