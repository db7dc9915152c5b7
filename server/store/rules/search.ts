import type { SearchResult } from '../../../generated/openapi.ts'
import { nextTurn } from '../../next-turn.ts'
import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { type Engine, sql, type Truth, type Values } from './statement.ts'

export const max_found = 50
/** Relayers whose transactions are searched in one turn of the event loop: a few milliseconds. */
const turn_relayers = 100

type Named = Pick<SearchResult, 'kind' | 'id' | 'name' | 'found_by'> & { is_whole: Truth | null }
type FoundTransaction = Pick<SearchResult, 'nonce' | 'reference' | 'value'> & {
  row_id: number
  id: string
  relayer_id: string
  status: string
}
/** Prefixes of transactions and addresses that are shorter find too much. */
const min_prefix = 4
/** Transactions of all relayers that a prefix is looked up for, before those that the caller may not see are left out. */
const max_of_prefix = 200

/** How a resource is found: by its id and its address, from their beginning, and by a part of its name. */
const named = (engine: Engine, kind: string, table: string, address: string, name = 'name') => {
  const position = engine === 'sqlite' ? 'instr' : 'strpos'
  const hasId = `${position}(lower(id), $lower) = 1`
  const hasAddress = `coalesce(${position}(${address}, $prefix), 0) = 1`
  return `
    SELECT '${kind}' AS kind, id, ${name} AS name,
      CASE WHEN ${hasId} THEN 'id' WHEN ${hasAddress} THEN 'address' ELSE 'name' END AS found_by,
      id = $text OR ${address} = $lower OR lower(${name}) = $lower AS is_whole
    FROM ${table} WHERE (${hasId} OR ${hasAddress} OR ${position}(lower(${name}), $lower) > 0)`
}
/** A result, and whether the text is the whole of what it was found by: those come first. */
type Ranked = SearchResult & { is_whole: boolean }
const noTransaction = { relayer_id: null, nonce: null, reference: null, value: null }
const prefix = '_prefix'
/** What sorts after hexadecimal digits in all languages, and the last character of Unicode. */
const after_digits = 'g'
const last_character = '\u{10ffff}'

const limited = `ORDER BY row_id LIMIT ${max_found}`

const relayersNamed = sql<Named>(
  (engine) =>
    `${named(engine, 'relayer', 'relayers', 'address')} AND ($ids::text[] IS NULL OR id = ANY ($ids::text[])) ${limited}`,
)
const networksNamed = sql<Named>((engine) => `${named(engine, 'network', 'networks', 'NULL')} ${limited}`)
const signersNamed = sql<Named>((engine) => `${named(engine, 'signer', 'signers', 'address', 'id')} ${limited}`)
const abisNamed = sql<Named>((engine) => `${named(engine, 'abi', 'abis', 'address')} ${limited}`)
const notificationsNamed = sql<Named>(
  (engine) =>
    `${named(engine, 'notification', 'notifications', 'NULL', 'id')} AND ($creator::text IS NULL OR created_by = $creator::text) ${limited}`,
)

const visible = sql<{ relayer_row_id: number }>(`
  SELECT row_id AS relayer_row_id FROM relayers WHERE $ids::text[] IS NULL OR id = ANY ($ids::text[]) ORDER BY row_id`)
const found = 'row_id, id, relayer_id, status, nonce, reference, value'
/** The last transactions of each relayer in the order. `where` names it as $relayer_row_id. */
function ofRelayers(where: string, order = 'sequence DESC', postgres = { where, order }) {
  const one = (its: { where: string; order: string }, relayer: string) =>
    `SELECT * FROM (SELECT ${found} FROM transactions WHERE ${its.where.replaceAll('$relayer_row_id', relayer)}
      ORDER BY ${its.order} LIMIT ${max_found}) AS last`
  return sql<FoundTransaction>({
    sqlite: one({ where, order }, '$relayer_row_id'),
    postgres: `SELECT its.* FROM json_to_recordset($rows::json) AS wanted (relayer_row_id bigint),
      LATERAL (${one(postgres, 'wanted.relayer_row_id')}) AS its`,
  })
}
const account = (column: string) => `(SELECT ${column} FROM relayers WHERE row_id = $relayer_row_id)`

/** Searches of all transactions. */
const globalSearches = {
  id: sql<FoundTransaction>(`SELECT ${found} FROM transactions WHERE id = $text`),
  hash: sql<FoundTransaction>(
    `SELECT ${found} FROM transactions WHERE row_id IN (SELECT transaction_row_id FROM attempts WHERE hash = $lower)`,
  ),
  id_prefix: sql<FoundTransaction>(
    `SELECT ${found} FROM transactions WHERE id >= $lower AND id < $end ORDER BY id DESC LIMIT ${max_of_prefix}`,
  ),
  hash_prefix: sql<FoundTransaction>(`
    SELECT ${found} FROM transactions WHERE row_id IN (
      SELECT transaction_row_id FROM attempts WHERE hash >= $lower AND hash < $end ORDER BY hash LIMIT ${max_of_prefix})`),
}

/** Searches of the transactions of each relayer. Those of a prefix have the order of their index: only the last are read. */
const relayerSearches = {
  reference: ofRelayers('relayer_row_id = $relayer_row_id AND reference = $text'),
  receiver: ofRelayers('relayer_row_id = $relayer_row_id AND "to" = $lower'),
  nonce: ofRelayers(
    `chain_id = ${account('chain_id')} AND "from" = ${account('address')} AND nonce = $number::bigint`,
    'nonce DESC',
  ),
  metadata: ofRelayers(`row_id IN (
    SELECT transaction_row_id FROM transaction_metadata AS its
    WHERE its.relayer_row_id = $relayer_row_id AND its.name = $name AND its.value = $value
    ORDER BY its.sequence DESC LIMIT ${max_found})`),
  // By its bytes: the order of a language has no range that holds a prefix.
  reference_prefix: ofRelayers(
    'relayer_row_id = $relayer_row_id AND reference >= $text AND reference < $end',
    'reference DESC, sequence DESC',
    {
      where: 'relayer_row_id = $relayer_row_id AND reference ~>=~ $text AND reference ~<~ $end',
      order: 'reference USING ~>~, sequence DESC',
    },
  ),
  receiver_prefix: ofRelayers(
    'relayer_row_id = $relayer_row_id AND "to" >= $lower AND "to" < $end',
    '"to" DESC, sequence DESC',
  ),
}

/** Each search uses an index, so its cost depends on the number of relayers, not of transactions. */
export const searches = { ...globalSearches, ...relayerSearches }

interface Wanted {
  search: keyof typeof searches
  values: Values
}

/** The searches that may find the text: for the whole of a value first. */
function searchesFor(text: string): Wanted[] {
  const lower = text.toLowerCase()
  const pair = /^([^:]+):(.+)$/s.exec(text)
  const isPrefix = text.length >= min_prefix
  const ofDigits = { lower, end: `${lower}${after_digits}` }
  const wanted: (Wanted | false)[] = [
    { search: 'id', values: { text } },
    /^0x[0-9a-f]{64}$/.test(lower) && { search: 'hash', values: { lower } },
    { search: 'reference', values: { text } },
    /^0x[0-9a-f]{40}$/.test(lower) && { search: 'receiver', values: { lower } },
    /^\d{1,15}$/.test(text) && { search: 'nonce', values: { number: Number(text) } },
    pair !== null && { search: 'metadata', values: { name: pair[1] as string, value: pair[2] as string } },
    isPrefix && /^[0-9a-f-]{1,35}$/.test(lower) && { search: 'id_prefix', values: ofDigits },
    isPrefix && /^0x[0-9a-f]{1,63}$/.test(lower) && { search: 'hash_prefix', values: ofDigits },
    isPrefix && /^0x[0-9a-f]{1,39}$/.test(lower) && { search: 'receiver_prefix', values: ofDigits },
    isPrefix && { search: 'reference_prefix', values: { text, end: `${text}${last_character}` } },
  ]
  return wanted.filter((one) => one !== false)
}

export function searchAll({ read }: Database): Pick<Store, 'search'> {
  /** The newest that it finds. */
  async function rowsOf(
    { search, values }: Wanted,
    relayers: { relayer_row_id: number }[],
    isVisible: (row: FoundTransaction) => boolean,
  ): Promise<FoundTransaction[]> {
    const newest = (rows: FoundTransaction[]) =>
      rows
        .filter(isVisible)
        .sort((a, b) => b.row_id - a.row_id)
        .slice(0, max_found)
    if (search in globalSearches) return newest(await read.all(searches[search], values))
    let rows: FoundTransaction[] = []
    for (let at = 0; at < relayers.length; at += turn_relayers) {
      const some = relayers.slice(at, at + turn_relayers)
      rows = newest([...rows, ...(await read.allOf(searches[search], some, values))])
      await nextTurn()
    }
    return rows
  }

  async function transactions(text: string, ids: string[] | null): Promise<Ranked[]> {
    const results = new Map<string, Ranked>()
    const relayers = await read.all(visible, { ids })
    const among = ids && new Set(ids)
    const isVisible = ({ relayer_id }: FoundTransaction) => among === null || among.has(relayer_id)
    for (const wanted of searchesFor(text)) {
      const is_whole = !wanted.search.endsWith(prefix)
      const found_by = wanted.search.replace(prefix, '') as SearchResult['found_by']
      for (const { row_id, status, ...row } of await rowsOf(wanted, relayers, isVisible))
        if (!results.has(row.id)) results.set(row.id, { kind: 'transaction', name: status, found_by, ...row, is_whole })
    }
    return [...results.values()]
  }

  return {
    async search(text, { relayer_ids, signers, notifications }) {
      const ids = relayer_ids === undefined ? null : [...relayer_ids]
      const lower = text.toLowerCase()
      const its = { text, lower, prefix: text.length < min_prefix ? null : lower }
      const creator = typeof notifications === 'object' ? notifications.created_by : null
      const resources = [
        ...(await read.all(relayersNamed, { ...its, ids })),
        ...(await read.all(networksNamed, its)),
        ...(signers ? await read.all(signersNamed, its) : []),
        ...(notifications === 'none' ? [] : await read.all(notificationsNamed, { ...its, creator })),
        ...(await read.all(abisNamed, its)),
      ]
      const all: Ranked[] = [
        ...resources.map((one) => ({ ...one, ...noTransaction, is_whole: Boolean(one.is_whole) })),
        ...(await transactions(text, ids)),
      ]
      return all
        .sort((a, b) => Number(b.is_whole) - Number(a.is_whole))
        .slice(0, max_found)
        .map(({ is_whole, ...result }) => result)
    },
  }
}
