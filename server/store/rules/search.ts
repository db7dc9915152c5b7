import type { SearchResult } from '../../../generated/openapi.ts'
import { nextTurn } from '../../next-turn.ts'
import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { type Engine, sql } from './statement.ts'

export const max_found = 50
/** Relayers whose transactions are searched in one turn of the event loop: a few milliseconds. */
const turn_relayers = 100

type Named = Pick<SearchResult, 'kind' | 'id' | 'name' | 'found_by'>
type FoundTransaction = { row_id: number; id: string; relayer_id: string; status: string }

/** How a resource is found: by its id as a whole, by its address, and by a part of its name, which is in lower case. */
const named = (engine: Engine, kind: string, table: string, address: string, name = 'name') => {
  const isInName = `${engine === 'sqlite' ? 'instr' : 'strpos'}(lower(${name}), $lower) > 0`
  return `
    SELECT '${kind}' AS kind, id, ${name} AS name,
      CASE WHEN id = $text THEN 'id' WHEN ${address} = $lower THEN 'address' ELSE 'name' END AS found_by
    FROM ${table} WHERE (id = $text OR ${address} = $lower OR ${isInName})`
}
const limited = `ORDER BY row_id LIMIT ${max_found}`

const relayersNamed = sql<Named>(
  (engine) =>
    `${named(engine, 'relayer', 'relayers', 'address')} AND ($ids::text[] IS NULL OR id = ANY ($ids::text[])) ${limited}`,
)
const networksNamed = sql<Named>((engine) => `${named(engine, 'network', 'networks', 'name')} ${limited}`)
const signersNamed = sql<Named>((engine) => `${named(engine, 'signer', 'signers', 'address', 'id')} ${limited}`)
const abisNamed = sql<Named>((engine) => `${named(engine, 'abi', 'abis', 'address')} ${limited}`)
const notificationsNamed = sql<Named>(
  (engine) =>
    `${named(engine, 'notification', 'notifications', 'id', 'id')} AND ($creator::text IS NULL OR created_by = $creator::text) ${limited}`,
)

const visible = sql<{ relayer_row_id: number }>(`
  SELECT row_id AS relayer_row_id FROM relayers WHERE $ids::text[] IS NULL OR id = ANY ($ids::text[]) ORDER BY row_id`)
const found = 'row_id, id, relayer_id, status'
const byId = sql<FoundTransaction>(`SELECT ${found} FROM transactions WHERE id = $text`)
const byHash = sql<FoundTransaction>(
  `SELECT ${found} FROM transactions WHERE row_id IN (SELECT transaction_row_id FROM attempts WHERE hash = $lower)`,
)

/** The newest transactions of each relayer. `where` names it as $relayer_row_id. */
function ofRelayers(where: string, order = 'sequence') {
  const one = (relayer: string, rest: (text: string) => string) =>
    `SELECT * FROM (SELECT ${found} FROM transactions WHERE ${rest(where.replaceAll('$relayer_row_id', relayer))}
      ORDER BY ${order} DESC LIMIT ${max_found}) AS newest`
  const same = (text: string) => text
  return sql<FoundTransaction>({
    sqlite: one('$relayer_row_id', same),
    postgres: `SELECT its.* FROM json_to_recordset($rows::json) AS wanted (relayer_row_id bigint),
      LATERAL (${one('wanted.relayer_row_id', same)}) AS its`,
  })
}
const account = (column: string) => `(SELECT ${column} FROM relayers WHERE row_id = $relayer_row_id)`

const searches = {
  reference: ofRelayers('relayer_row_id = $relayer_row_id AND reference = $text'),
  receiver: ofRelayers('relayer_row_id = $relayer_row_id AND "to" = $lower'),
  nonce: ofRelayers(
    `chain_id = ${account('chain_id')} AND "from" = ${account('address')} AND nonce = $number::bigint`,
    'nonce',
  ),
  metadata: ofRelayers(`row_id IN (
    SELECT transaction_row_id FROM transaction_metadata AS its
    WHERE its.relayer_row_id = $relayer_row_id AND its.name = $name AND its.value = $value
    ORDER BY its.sequence DESC LIMIT ${max_found})`),
}

/** Each search uses an index, so its cost depends on the number of relayers, not of transactions. */
export function searchAll({ read }: Database): Pick<Store, 'search'> {
  async function transactions(text: string, ids: string[] | null): Promise<SearchResult[]> {
    const lower = text.toLowerCase()
    const results: SearchResult[] = []
    const add = (rows: FoundTransaction[], found_by: SearchResult['found_by']) => {
      const newest = rows.filter(({ relayer_id }) => ids === null || ids.includes(relayer_id))
      for (const { id, relayer_id, status } of newest.sort((a, b) => b.row_id - a.row_id).slice(0, max_found))
        results.push({ kind: 'transaction', id, relayer_id, name: status, found_by })
    }
    add(await read.all(byId, { text }), 'id')
    if (/^0x[0-9a-f]{64}$/.test(lower)) add(await read.all(byHash, { lower }), 'hash')

    const pair = /^([^:]+):(.+)$/s.exec(text)
    const wanted = [
      ['reference', { text }],
      ...(/^0x[0-9a-f]{40}$/.test(lower) ? [['receiver', { lower }] as const] : []),
      ...(/^\d{1,15}$/.test(text) ? [['nonce', { number: Number(text) }] as const] : []),
      ...(pair ? [['metadata', { name: pair[1] as string, value: pair[2] as string }] as const] : []),
    ] as const
    const relayers = await read.all(visible, { ids })
    for (const [found_by, values] of wanted) {
      const rows: FoundTransaction[] = []
      for (let at = 0; at < relayers.length; at += turn_relayers) {
        rows.push(...(await read.allOf(searches[found_by], relayers.slice(at, at + turn_relayers), values)))
        await nextTurn()
      }
      add(rows, found_by)
    }
    return results
  }

  return {
    async search(text, { relayer_ids, signers, notifications }) {
      const ids = relayer_ids === undefined ? null : [...relayer_ids]
      const lower = text.toLowerCase()
      const its = { text, lower }
      const creator = typeof notifications === 'object' ? notifications.created_by : null
      const resources = [
        ...(await read.all(relayersNamed, { ...its, ids })),
        ...(await read.all(networksNamed, its)),
        ...(signers ? await read.all(signersNamed, its) : []),
        ...(notifications === 'none' ? [] : await read.all(notificationsNamed, { ...its, creator })),
        ...(await read.all(abisNamed, its)),
      ]
      const all = [...resources.map((one) => ({ ...one, relayer_id: null })), ...(await transactions(text, ids))]
      const isWhole = ({ found_by }: SearchResult) => Number(found_by !== 'name')
      return all.sort((a, b) => isWhole(b) - isWhole(a)).slice(0, max_found)
    },
  }
}
