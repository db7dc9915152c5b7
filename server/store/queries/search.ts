import type { SearchResult } from '../../../generated/openapi.ts'
import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import type { SearchSight, Store } from '../store.ts'
import type { Database } from './database.ts'
import { type Engine, type Statement, sql, type Truth, type Values } from './session.ts'
import { few, findTransactions, minPrefix } from './text-search.ts'

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

/** How a resource is found: by its id and its address, from their beginning, and by a part of its name. `seen`: a condition for those seen. */
function resource(kind: string, table: string, address: string, name = 'name', seen = 'true'): Resource {
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
  relayers: resource('relayer', 'relayers', 'address', 'name', '($ids::text[] IS NULL OR id = ANY ($ids::text[]))'),
  networks: resource('network', 'networks', 'NULL'),
  signers: resource('signer', 'signers', 'address', 'id'),
  notifications: resource(
    ...(['notification', 'notifications', 'NULL', 'id'] as const),
    '($creator::text IS NULL OR created_by = $creator::text)',
  ),
  abis: resource('abi', 'abis', 'address'),
}

const visible = sql<{ relayer_row_id: number }>(`
  SELECT row_id AS relayer_row_id FROM relayers WHERE $ids::text[] IS NULL OR id = ANY ($ids::text[]) ORDER BY row_id`)

export function searchAll({ read }: Database): Pick<Store, 'search'> {
  async function resourcesNamed(
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
        const { last, rows } = (await read.one(step, { after })) as { last: number; rows: number }
        if (rows > 0) found.push(...(await read.all(find, { ...its, ...more, after, last })))
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

  async function transactions(text: string, ids: string[] | null): Promise<{ items: Ranked[]; total: number }> {
    const { items, total } = await findTransactions(read, few, text, await read.all(visible, { ids }))
    const shown = items.map(({ id, relayer_id, status: name, nonce, reference, value, created_at, ...its }) => ({
      ...{ kind: 'transaction' as const, id, relayer_id, name, nonce, reference, value, created_at },
      ...{ found_by: its.found_by, matched: its.matched, is_whole: its.is_whole },
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
        .slice(0, maxFound)
        .map(({ is_whole, ...result }) => result)
      return { items, total_items: resources.length + found.total }
    },
  }
}
