import type { PendingAuditEntry, PoolRow } from '../../core/rows.ts'
import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import type { Session, Transaction } from './session.ts'
import { type Engine, sql } from './statement.ts'

type Row = Omit<PoolRow, 'relayers'> & { relayers: string }

const relayersIn: Record<Engine, string> = {
  sqlite: "json_group_array(json_object('relayer_id', id, 'address', address, 'weight', weight))",
  postgres: "coalesce(json_agg(json_build_object('relayer_id', id, 'address', address, 'weight', weight)), '[]')::text",
}
const listed = (engine: Engine) => `
  row_id, id, name, network, (SELECT ${relayersIn[engine]} FROM (
    SELECT relayers.id, address, weight FROM pool_relayers JOIN relayers ON relayers.row_id = relayer_row_id
    WHERE pool_row_id = pools.row_id ORDER BY relayer_row_id) AS its) AS relayers`
const columns = { sqlite: listed('sqlite'), postgres: listed('postgres') }

const readRow = ({ relayers, ...row }: Row): PoolRow => ({ ...row, relayers: JSON.parse(relayers) })

const select = sql<Row>((engine) => `SELECT ${columns[engine]} FROM pools WHERE id = $id`)
const network = sql('SELECT 1 FROM networks WHERE name = $network')
const keepId = sql('INSERT INTO pool_ids (id) VALUES ($id) ON CONFLICT DO NOTHING')
const insert = sql(`
  INSERT INTO pools (row_id, id, name, network) SELECT row_id, id, $name::text, $network::text FROM pool_ids
  WHERE id = $id ON CONFLICT DO NOTHING`)
const rename = sql('UPDATE pools SET name = $name WHERE id = $id')
const member = sql<{ row_id: number }>('SELECT row_id FROM relayers WHERE id = $id AND network = $network')
const removeOthers = sql(`
  DELETE FROM pool_relayers WHERE pool_row_id = $pool_row_id AND NOT (relayer_row_id = ANY ($row_ids::bigint[]))`)
const add = sql(`
  INSERT INTO pool_relayers (pool_row_id, relayer_row_id, weight) VALUES ($pool_row_id, $relayer_row_id, ${100})
  ON CONFLICT DO NOTHING`)
const weigh = sql(`
  UPDATE pool_relayers SET weight = $weight WHERE pool_row_id = (SELECT row_id FROM pools WHERE id = $id)
    AND relayer_row_id = (SELECT row_id FROM relayers WHERE id = $relayer_id)`)
const remove = sql('DELETE FROM pools WHERE id = $id')

type Pools = Pick<Store, 'createPool' | 'getPool' | 'listPools' | 'updatePool' | 'weighPoolRelayer' | 'deletePool'>

export function pools({ read, lister, writeAlone }: Database): Pools {
  const find = async (session: Session, id: string) => {
    const row = await session.one(select, { id })
    return row && readRow(row)
  }

  /** Gives the pool these relayers. Throws UnknownRelayer, which undoes what was changed before. */
  async function withRelayers(transaction: Transaction, id: string, relayer_ids: string[]): Promise<PoolRow> {
    const { row_id: pool_row_id, network } = (await find(transaction, id)) as PoolRow
    const row_ids: number[] = []
    for (const [index, relayer_id] of relayer_ids.entries()) {
      const its = await transaction.one(member, { id: relayer_id, network })
      if (!its) throw new UnknownRelayer(index)
      row_ids.push(its.row_id)
    }
    await transaction.run(removeOthers, { pool_row_id, row_ids })
    for (const relayer_row_id of row_ids) await transaction.run(add, { pool_row_id, relayer_row_id })
    return (await find(transaction, id)) as PoolRow
  }

  async function write<T>(work: (transaction: Transaction) => Promise<T>, auditEntry: PendingAuditEntry | undefined) {
    try {
      return await writeAlone(work, auditEntry)
    } catch (error) {
      if (error instanceof UnknownRelayer) return { unknown_relayer: error.index }
      throw error
    }
  }

  return {
    createPool: ({ relayer_ids, ...pool }, auditEntry) =>
      write(async (transaction) => {
        if (!(await transaction.one(network, { network: pool.network }))) return 'unknown_network'
        await transaction.run(keepId, { id: pool.id })
        if ((await transaction.run(insert, { ...pool })) === 0) return 'id_taken'
        return withRelayers(transaction, pool.id, relayer_ids)
      }, auditEntry),
    getPool: (id) => find(read, id),
    listPools: lister('pools', columns, readRow),
    updatePool: (id, { name, relayer_ids }, auditEntry) =>
      write(async (transaction) => {
        const pool = await find(transaction, id)
        if (!pool) return 'missing'
        if (name !== undefined) await transaction.run(rename, { id, name })
        return withRelayers(transaction, id, relayer_ids ?? pool.relayers.map(({ relayer_id }) => relayer_id))
      }, auditEntry),
    weighPoolRelayer: (id, relayer_id, weight, auditEntry) =>
      writeAlone(async (transaction) => {
        if ((await transaction.run(weigh, { id, relayer_id, weight })) === 0) return undefined
        return find(transaction, id)
      }, auditEntry),
    deletePool: (id, auditEntry) =>
      writeAlone(async (transaction) => (await transaction.run(remove, { id })) === 1, auditEntry),
  }
}

class UnknownRelayer extends Error {
  readonly index: number

  constructor(index: number) {
    super('The network has no such relayer')
    this.index = index
  }
}
