import type { SearchResult } from '../../../generated/openapi.ts'
import { nextTurn } from '../../next-turn.ts'
import type { SearchSight } from '../problem-store.ts'
import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { type Engine, greatest, type Statement, sql, type Truth, type Values } from './statement.ts'
import { few, findTransactions, min_prefix } from './text-search.ts'

const max_found = 50
/** Resources of one kind: one more than are shown tells that there are more. */
const max_named = max_found + 1
/** Rows that one turn of the event loop compares with the text: some milliseconds. */
const step_rows = 25_000

type Named = Pick<SearchResult, 'kind' | 'id' | 'name' | 'found_by' | 'matched'> & { is_whole: Truth | null }

/** How a resource is found: by its id and its address, from their beginning, and by a part of its name. */
const named = (engine: Engine, kind: string, table: string, address: string, name = 'name') => {
  const position = engine === 'sqlite' ? 'instr' : 'strpos'
  const hasId = `${position}(lower(id), $lower) = 1`
  const hasAddress = `coalesce(${position}(${address}, $prefix), 0) = 1`
  return `
    SELECT '${kind}' AS kind, id, ${name} AS name,
      CASE WHEN ${hasId} THEN 'id' WHEN ${hasAddress} THEN 'address' ELSE 'name' END AS found_by,
      CASE WHEN ${hasId} THEN id WHEN ${hasAddress} THEN ${address} ELSE ${name} END AS matched,
      id = $text OR ${address} = $lower OR lower(${name}) = $lower AS is_whole
    FROM ${table} WHERE row_id > $after::bigint AND row_id <= $after::bigint + ${step_rows}
      AND (${hasId} OR ${hasAddress} OR ${position}(lower(${name}), $lower) > 0)`
}
/** A result, and whether the text is the whole of what it was found by: those come first. */
type Ranked = SearchResult & { is_whole: boolean }
const noTransaction = { relayer_id: null, nonce: null, reference: null, value: null }

const limited = `ORDER BY row_id LIMIT ${max_named}`

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

const lastRow = sql<{ last: number }>(
  (engine) => `
  SELECT ${greatest[engine]}(${['relayers', 'networks', 'signers', 'notifications', 'abis']
    .map((table) => `coalesce((SELECT max(row_id) FROM ${table}), 0)`)
    .join(', ')}) AS last`,
)

const visible = sql<{ relayer_row_id: number }>(`
  SELECT row_id AS relayer_row_id FROM relayers WHERE $ids::text[] IS NULL OR id = ANY ($ids::text[]) ORDER BY row_id`)

export function searchAll({ read }: Database): Pick<Store, 'search'> {
  async function resourcesNamed(
    text: string,
    ids: string[] | null,
    { signers, notifications }: SearchSight,
  ): Promise<Ranked[]> {
    const lower = text.toLowerCase()
    const its = { text, lower, prefix: text.length < min_prefix ? null : lower }
    const creator = typeof notifications === 'object' ? notifications.created_by : null
    const last = (await read.one(lastRow))?.last ?? 0
    const all = async (statement: Statement<Named>, more: Values = {}) => {
      const found: Named[] = []
      for (let after = 0; after < last && found.length < max_named; after += step_rows) {
        found.push(...(await read.all(statement, { ...its, ...more, after })))
        await nextTurn()
      }
      return found
    }
    const found = [
      ...(await all(relayersNamed, { ids })),
      ...(await all(networksNamed)),
      ...(signers ? await all(signersNamed) : []),
      ...(notifications === 'none' ? [] : await all(notificationsNamed, { creator })),
      ...(await all(abisNamed)),
    ]
    return found.map((one) => ({ ...one, ...noTransaction, is_whole: Boolean(one.is_whole) }))
  }

  async function transactions(text: string, ids: string[] | null): Promise<{ items: Ranked[]; total: number }> {
    const { items, total } = await findTransactions(read, few, text, await read.all(visible, { ids }))
    const shown = items.map(({ id, relayer_id, status, nonce, reference, value, found_by, matched, is_whole }) => ({
      ...{ kind: 'transaction' as const, id, relayer_id, name: status, nonce, reference, value, found_by, matched },
      is_whole,
    }))
    return { items: shown, total }
  }

  return {
    async search(text, sight) {
      const ids = sight.relayer_ids === undefined ? null : [...sight.relayer_ids]
      const resources = await resourcesNamed(text, ids, sight)
      const found = await transactions(text, ids)
      const items = [...resources, ...found.items]
        .sort((a, b) => Number(b.is_whole) - Number(a.is_whole))
        .slice(0, max_found)
        .map(({ is_whole, ...result }) => result)
      return { items, total_items: resources.length + found.total }
    },
  }
}
