import type { SearchResult } from '../../../generated/openapi.ts'
import type { Listing } from '../../domain/rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import {
  type Database,
  type Engine,
  type Session,
  type Statement,
  selectForEach,
  sql,
  type Truth,
  type Values,
} from './database.ts'

/** What the caller of a search may see. */
interface SearchSight {
  relayer_ids: ReadonlySet<string> | undefined
  signers: boolean
  notifications: 'all' | 'none' | { created_by: string }
}

const maxFound = 50
/** Resources of one kind: one more than are shown tells that there are more. */
const maxNamed = maxFound + 1
/** Rows that one turn of the event loop compares with the text: some milliseconds. */
const stepRows = 25_000

type Named = Pick<SearchResult, 'kind' | 'id' | 'name' | 'found_by' | 'matched'> & { is_whole: Truth }

/** A result, and whether the text is the whole of what it was found by: those come first. */
type Ranked = SearchResult & { is_whole: boolean }
const noTransaction = { relayer_id: null, nonce: null, reference: null, value: null, created_at: null }

interface Resource {
  /** The end of a step, and how many rows it has. */
  step: Statement<{ last: number; rows: number }>
  /** Those of the step that the text finds. */
  find: Statement<Named>
}

/**
 * How a resource is found: by its id and its address, from their beginning, and by a part of its name. `seen`: a condition for those seen.
 */
function resource(kind: string, address: string, name = 'name', seen = 'true'): Resource {
  const table = `${kind}s`
  const find = (engine: Engine) => {
    const position = engine === 'sqlite' ? 'instr' : 'strpos'
    const hasId = `${position}(lower(id), $lower) = 1`
    const hasAddress = `coalesce(${position}(${address}, $prefix), 0) = 1`
    return `
      SELECT '${kind}' AS kind, id, ${name} AS name,
        CASE WHEN ${hasId} THEN 'id' WHEN ${hasAddress} THEN 'address' ELSE 'name' END AS found_by,
        CASE WHEN ${hasId} THEN id WHEN ${hasAddress} THEN ${address} ELSE ${name} END AS matched,
        coalesce(id = $text OR ${address} = $lower OR lower(${name}) = $lower, false) AS is_whole
      FROM ${table} WHERE row_id > $after::bigint AND row_id <= $last::bigint AND ${seen}
        AND (${hasId} OR ${hasAddress} OR ${position}(lower(${name}), $lower) > 0)
      ORDER BY is_whole DESC, row_id LIMIT ${maxNamed}`
  }
  return {
    step: sql(`
      SELECT coalesce(max(row_id), 0) AS last, count(*) AS rows
      FROM (SELECT row_id FROM ${table} WHERE row_id > $after::bigint ORDER BY row_id LIMIT ${stepRows}) AS its`),
    find: sql(find),
  }
}

const resources = {
  relayers: resource('relayer', 'address', 'name', '($ids::text[] IS NULL OR id = ANY ($ids::text[]))'),
  networks: resource('network', 'NULL'),
  signers: resource('signer', 'address', 'id'),
  notifications: resource(
    ...(['notification', 'NULL', 'id'] as const),
    '($creator::text IS NULL OR created_by = $creator::text)',
  ),
  abis: resource('abi', 'address'),
}

const visible = sql<{ relayer_row_id: number }>(`
  SELECT row_id AS relayer_row_id FROM relayers WHERE $ids::text[] IS NULL OR id = ANY ($ids::text[]) ORDER BY row_id`)

async function resourcesNamed(
  database: Database,
  text: string,
  ids: string[] | null,
  { signers, notifications }: SearchSight,
): Promise<Ranked[]> {
  const lower = text.toLowerCase()
  const its = { text, lower, prefix: text.length < minPrefix ? null : lower }
  const creator = typeof notifications === 'object' ? notifications.created_by : null
  const all = async ({ step, find }: Resource, more: Values = {}) => {
    const found: Named[] = []
    for (let after = 0; found.length < maxNamed; ) {
      const { last, rows } = (await database.read.one(step, { after })) as { last: number; rows: number }
      if (rows > 0) found.push(...(await database.read.all(find, { ...its, ...more, after, last })))
      if (rows < stepRows) break
      after = last
      await yieldToEventLoop()
    }
    return found
  }
  const found = [
    ...(await all(resources.relayers, { ids })),
    ...(await all(resources.networks)),
    ...(signers ? await all(resources.signers) : []),
    ...(notifications === 'none' ? [] : await all(resources.notifications, { creator })),
    ...(await all(resources.abis)),
  ]
  return found.map((one) => ({ ...one, ...noTransaction, is_whole: Boolean(one.is_whole) }))
}

async function transactions(
  database: Database,
  text: string,
  ids: string[] | null,
): Promise<{ items: Ranked[]; total: number }> {
  const { items, total } = await findTransactions(database.read, few, text, {
    relayers: await database.read.all(visible, { ids }),
  })
  const shown = items.map(({ id, relayer_id, status: name, nonce, reference, value, created_at, ...its }) => ({
    ...{ kind: 'transaction' as const, id, relayer_id, name, nonce, reference, value, created_at },
    ...{ found_by: its.found_by, matched: its.matched, is_whole: its.is_whole },
  }))
  return { items: shown, total }
}

/** The first of what was found. `total_items`: a lower bound of how many have the text. */
export async function search(database: Database, text: string, sight: SearchSight): Promise<Listing<SearchResult>> {
  const ids = sight.relayer_ids === undefined ? null : [...sight.relayer_ids]
  const resources = await resourcesNamed(database, text, ids, sight)
  const found = await transactions(database, text, ids)
  const items = [...resources, ...found.items]
    .sort((a, b) => Number(b.is_whole) - Number(a.is_whole))
    .slice(0, maxFound)
    .map(({ is_whole, ...result }) => result)
  return { items, total_items: resources.length + found.total }
}

/** Rows that one turn of the event loop reads: a few milliseconds. */
const turnRows = 5_000
/** What one search reads for a list: of many relayers, fewer of each. */
const listRows = 50_000
/** Of each relayer: in the search over everything, and the most in a list. */
const few = 50
const many = 1_000
/** Prefixes of transactions and addresses that are shorter find too much. */
const minPrefix = 4
/** Transactions of all relayers that a prefix is looked up for, before those that the caller may not see are left out. */
const maxOfPrefix = 1_000
const prefix = '_prefix'
/** What sorts after hexadecimal digits in all languages, and the last character of Unicode. */
const afterDigits = 'g'
const lastCharacter = '\u{10ffff}'
/** `12`, and `nonce 12` or `#12` for nothing else. */
const nonceForm = /^(?:nonce\s+|#)?(\d{1,15})$/i

interface StoredFound extends Pick<SearchResult, 'nonce' | 'reference' | 'value' | 'created_at'> {
  row_id: number
  relayer_row_id: number
  id: string
  relayer_id: string
  status: string
  to: string | null
  /** Of a search by hash. */
  matched_hash?: string
}

/** A transaction that a text finds. `is_whole`: the text is the whole of what it was found by. */
interface FoundTransaction extends StoredFound, Pick<SearchResult, 'found_by' | 'matched'> {
  is_whole: boolean
}

const foundColumns = 'row_id, relayer_row_id, id, relayer_id, status, nonce, reference, value, created_at, "to"'

/** The last $limit transactions of each relayer in the order. `where` names it as $relayer_row_id. */
function ofRelayers(where: string, order = 'sequence DESC', postgres = { where, order }) {
  const one = (its: { where: string; order: string }, relayer: string) =>
    `SELECT * FROM (SELECT ${foundColumns} FROM transactions WHERE ${its.where.replaceAll('$relayer_row_id', relayer)}
      ORDER BY ${its.order} LIMIT $limit::bigint) AS last`
  return selectForEach<StoredFound>({ relayer_row_id: 'bigint' }, (record, engine) =>
    one(engine === 'sqlite' ? { where, order } : postgres, `${record}relayer_row_id`),
  )
}
const account = (column: string) => `(SELECT ${column} FROM relayers WHERE row_id = $relayer_row_id)`

/** Of all transactions, by the hash of any of their attempts. */
const byHash = (where: string) =>
  sql<StoredFound>(`
    SELECT ${foundColumns}, matched_hash FROM (SELECT transaction_row_id, hash AS matched_hash FROM attempts WHERE ${where}) AS its
      JOIN transactions ON transactions.row_id = its.transaction_row_id`)

/** Searches of all transactions. `pool`: a condition for those of a pool, or nothing. */
const globalSearches = (pool: string) => ({
  id: sql<StoredFound>(`SELECT ${foundColumns} FROM transactions WHERE id = $text`),
  hash: byHash('hash = $lower'),
  id_prefix: sql<StoredFound>(
    `SELECT ${foundColumns} FROM transactions WHERE ${pool} id >= $lower AND id < $end ORDER BY id DESC LIMIT ${maxOfPrefix}`,
  ),
  hash_prefix: byHash(`hash >= $lower AND hash < $end ORDER BY hash LIMIT ${maxOfPrefix}`),
})

/** Searches of the transactions of each relayer. Those of a prefix have the order of their index: only the last are read. */
const relayerSearches = (pool: string) => {
  const own = `${pool} relayer_row_id = $relayer_row_id`
  return {
    reference: ofRelayers(`${own} AND reference = $text`),
    receiver: ofRelayers(`${own} AND "to" = $lower`),
    nonce: ofRelayers(
      `${pool} chain_id = ${account('chain_id')} AND "from" = ${account('address')} AND nonce = $number::bigint`,
      'nonce DESC',
    ),
    metadata: ofRelayers(`row_id IN (
      SELECT transaction_row_id FROM transaction_metadata AS its
      WHERE ${pool && `its.${pool}`} its.relayer_row_id = $relayer_row_id AND its.name = $name AND its.value = $value
      ORDER BY its.sequence DESC LIMIT $limit::bigint)`),
    // By its bytes: the order of a language has no range that holds a prefix.
    reference_prefix: ofRelayers(
      `${own} AND reference >= $text AND reference < $end`,
      'reference DESC, sequence DESC',
      {
        where: `${own} AND reference ~>=~ $text AND reference ~<~ $end`,
        order: 'reference USING ~>~, sequence DESC',
      },
    ),
    receiver_prefix: ofRelayers(`${own} AND "to" >= $lower AND "to" < $end`, '"to" DESC, sequence DESC'),
    newest: ofRelayers(own),
  }
}

const searchesIn = (pool: string) => ({ ...globalSearches(pool), ...relayerSearches(pool) })

/** Each search uses an index, so its cost depends on the number of relayers, not of transactions. */
export const searches = searchesIn('')
/** Of what went through a pool, however much its relayers sent directly. */
export const poolSearches = searchesIn('pool_row_id = $pool_row_id::bigint AND')
const isGlobal = new Set(Object.keys(globalSearches('')))

interface Wanted {
  search: keyof typeof searches
  values: Values
}

/** The searches that may find the text: for the whole of a value first. */
function searchesFor(text: string): Wanted[] {
  const lower = text.toLowerCase()
  const pair = /^([^:]+):(.+)$/s.exec(text)
  const nonce = nonceForm.exec(text)?.[1]
  const isPrefix = text.length >= minPrefix
  const ofDigits = { lower, end: `${lower}${afterDigits}` }
  const wanted: (Wanted | false)[] = [
    { search: 'id', values: { text } },
    /^0x[0-9a-f]{64}$/.test(lower) && { search: 'hash', values: { lower } },
    { search: 'reference', values: { text } },
    /^0x[0-9a-f]{40}$/.test(lower) && { search: 'receiver', values: { lower } },
    nonce !== undefined && { search: 'nonce', values: { number: Number(nonce) } },
    pair !== null && { search: 'metadata', values: { name: pair[1] as string, value: pair[2] as string } },
    isPrefix && /^[0-9a-f-]{1,35}$/.test(lower) && { search: 'id_prefix', values: ofDigits },
    isPrefix && /^0x[0-9a-f]{1,63}$/.test(lower) && { search: 'hash_prefix', values: ofDigits },
    isPrefix && /^0x[0-9a-f]{1,39}$/.test(lower) && { search: 'receiver_prefix', values: ofDigits },
    isPrefix && { search: 'reference_prefix', values: { text, end: `${text}${lastCharacter}` } },
  ]
  return wanted.filter((one) => one !== false)
}

interface RelayerRow {
  relayer_row_id: number
}

/** Where a text is searched: in all transactions of these relayers, or in those that went through a pool. */
interface Area {
  relayers: readonly RelayerRow[]
  pool_row_id?: number | undefined
}

/** The newest of the transactions of these relayers that a search finds. `limit`: of each. `count`: how many it finds at least. */
async function rowsOf(
  read: Session,
  limit: number,
  { search, values: wanted }: Wanted,
  { relayers, pool_row_id }: Area,
): Promise<{ rows: StoredFound[]; count: number }> {
  const [statement, values] =
    pool_row_id === undefined ? [searches[search], wanted] : [poolSearches[search], { ...wanted, pool_row_id }]
  const newest = (rows: StoredFound[]) => rows.sort((a, b) => b.row_id - a.row_id).slice(0, many)
  if (isGlobal.has(search)) {
    const among = new Set(relayers.map(({ relayer_row_id }) => relayer_row_id))
    const seen = (await read.all(statement, values)).filter(({ relayer_row_id }) => among.has(relayer_row_id))
    return { rows: newest(seen), count: seen.length }
  }
  let rows: StoredFound[] = []
  let count = 0
  const step = Math.ceil(turnRows / limit)
  for (let at = 0; at < relayers.length; at += step) {
    const some = relayers.slice(at, at + step).map(({ relayer_row_id }) => ({ relayer_row_id }))
    const seen = await read.allOf(statement, some, { ...values, limit })
    rows = newest([...rows, ...seen])
    count += seen.length
    await yieldToEventLoop()
  }
  return { rows, count }
}

const matchedIn = (
  foundBy: SearchResult['found_by'],
  { id, to, nonce, reference, matched_hash }: StoredFound,
  text: string,
) => {
  const values = { id, hash: matched_hash, receiver: to, nonce, reference, metadata: text }
  return `${values[foundBy as keyof typeof values]}`
}

/** The transactions that the text finds: by the whole of a value first, the newest first. `limit`: of each. `total`: how many at least. */
async function findTransactions(
  read: Session,
  limit: number,
  text: string,
  area: Area,
): Promise<{ items: FoundTransaction[]; total: number }> {
  let total = 0
  const found = new Map<number, FoundTransaction>()
  for (const wanted of searchesFor(text)) {
    const isWhole = !wanted.search.endsWith(prefix)
    const foundBy = wanted.search.replace(prefix, '') as SearchResult['found_by']
    const { rows, count } = await rowsOf(read, limit, wanted, area)
    total = Math.max(total, count)
    for (const row of rows)
      if (!found.has(row.row_id))
        found.set(row.row_id, { ...row, found_by: foundBy, matched: matchedIn(foundBy, row, text), is_whole: isWhole })
  }
  return { items: [...found.values()], total: Math.max(total, found.size) }
}

/** Whether the text is the id or the name of a relayer, or begins it. */
export function isNamed(text: string): (relayer: { id: string; name: string }) => boolean {
  const lower = text.toLowerCase()
  return ({ id, name }) =>
    [id.toLowerCase(), name.toLowerCase()].some((one) =>
      lower.length < minPrefix ? one === lower : one.startsWith(lower),
    )
}

/** The row ids of what the text finds for a list, the newest first. `named`: relayers whose transactions it finds by their names. */
export async function findRowIds(
  read: Session,
  text: string,
  area: Area,
  named: readonly RelayerRow[],
): Promise<number[]> {
  const limit = Math.min(many, Math.max(few, Math.floor(listRows / area.relayers.length)))
  const { items } = await findTransactions(read, limit, text, area)
  const { rows } = await rowsOf(read, limit, { search: 'newest', values: {} }, { ...area, relayers: named })
  const rowIds = new Set([...items, ...rows].map(({ row_id }) => row_id))
  return [...rowIds].sort((a, b) => b - a).slice(0, many)
}

const named = ['relayers', 'pools', 'networks', 'signers', 'notifications'] as const
/** The resources whose ids callers choose. */
type NamedTable = (typeof named)[number]
const maxIds = 500
const firstIds = Object.fromEntries(
  named.map((table) => [table, sql<{ id: string }>(`SELECT id FROM ${table} ORDER BY row_id LIMIT ${maxIds}`)]),
) as Record<NamedTable, Statement<{ id: string }>>

/** Some of the ids, to find the one that a caller meant. */
export const someIds = async ({ read }: Database, table: NamedTable): Promise<string[]> =>
  (await read.all(firstIds[table])).map(({ id }) => id)
