import type { Parameter } from '../../contract-types.ts'
import { short } from '../data/format.ts'
import { dayAndHour } from '../data/times.ts'

/** As many as the service finds by a text. */
export const maxFound = 1_000

/**
 * The filter that a text stands for. `after 2026-01-31`, also with a colon, and `before` narrow the time of acceptance; the rest is searched
 * as everywhere.
 */
export function filterOf(text: string, hasNonces: boolean): Filter {
  const { period, rest: others } = periodOf(text)
  const times: Filter = {
    ...(period.after && { created_after: period.after }),
    ...(period.before && { created_before: period.before }),
  }
  const rest = others.replaceAll(
    /(?:^|\s)(after|before)(?::\s*|\s+)(\S+)/g,
    (_, which: 'after' | 'before', at: string) => {
      const ms = Date.parse(at)
      if (!Number.isNaN(ms)) times[`created_${which}`] = new Date(ms).toISOString()
      return ''
    },
  )
  return { ...times, ...contentOf(rest.trim(), hasNonces) }
}

/** A text for `filterOf`: transactions with exactly this reference. */
export const withReference = (reference: string): string => `reference:${reference}`

/** A whole value has a filter of its own, which finds any number. A range of nonces is one of a relayer. */
function contentOf(text: string, hasNonces: boolean): Filter {
  if (text === '') return {}
  if (/^0x[0-9a-f]{64}$/i.test(text)) return { hash: text }
  if (/^0x[0-9a-f]{40}$/i.test(text)) return { to: text }
  const [, from, to] = (hasNonces && /^(?:nonces?\s+)?(\d{1,15})-(\d{1,15})$/i.exec(text)) || []
  if (from !== undefined) return { nonce_from: Number(from), nonce_to: Number(to) }
  const reference = /^reference:\s*(.+)$/i.exec(text)?.[1]
  return reference === undefined ? { search: text.slice(0, 255) } : { reference: reference.slice(0, 255) }
}

type Query = NonNullable<Parameter<'/api/v1/relayers/{relayer_id}/transactions/', 'get', 'query'>>

/** Which transactions of a list are shown. */
export type Filter = Omit<Query, 'page' | 'per_page'>

/** A time from which on, and one before which; each may be open. In UTC. */
export interface Period {
  after?: string
  before?: string
}

const form = /(?:^|\s)(after|before):(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z)(?=\s|$)/g

/** The exact times in the text of a filter, as `withPeriod` and the charts write them, and the rest of the text. */
export function periodOf(text: string): { period: Period; rest: string } {
  const period: Period = {}
  const rest = text.replaceAll(form, (_, which: keyof Period, at: string) => {
    period[which] = new Date(at).toISOString()
    return ''
  })
  return { period, rest: rest.trimStart() }
}

/** The text of a filter with a period. */
export const withPeriod = (rest: string, { after, before }: Period): string =>
  [after && `after:${after}`, before && `before:${before}`, rest].filter(Boolean).join(' ')

/** What an empty list says: what was looked for, and what can be done. */
export interface NothingFound {
  title: string
  advice: string
}

const states: Record<string, string> = {
  unfinished: 'unfinished transaction',
  confirmed: 'confirmed transaction',
  failed: 'failed transaction',
  withdrawn: 'canceled or expired transaction',
}

/** Names what was filtered by. `group`: the states; `all` of them is no filter. */
export function nothingFound(group: string, filter: Filter): NothingFound {
  const content = contentText(filter)
  const state = states[group]
  const title = ['No', state ?? 'transaction', periodText(filter), content?.text].filter((part) => part !== undefined)
  return { title: title.join(' '), advice: content?.advice ?? adviceOf(state, filter) }
}

function contentText({ search, reference, hash, to, nonce_from, nonce_to }: Filter) {
  if (search !== undefined)
    return {
      text: `has “${search}”`,
      advice: 'IDs, hashes, receivers, references and relayers are found by their beginning, from 4 characters on.',
    }
  if (reference !== undefined)
    return {
      text: `has the reference “${reference}”`,
      advice: 'Without “reference:”, its beginning finds it too.',
    }
  if (hash !== undefined)
    return { text: `has the hash ${short(hash)}`, advice: 'No relayer that your API key may see has sent it.' }
  if (to !== undefined)
    return { text: `goes to ${short(to)}`, advice: 'No relayer that your API key may see has sent anything to it.' }
  if (nonce_from === undefined) return undefined
  const text = nonce_from === nonce_to ? `has the nonce ${nonce_from}` : `has a nonce from ${nonce_from} to ${nonce_to}`
  return { text, advice: 'Choose other nonces, or show all transactions of the relayer.' }
}

function periodText({ created_after, created_before }: Filter): string | undefined {
  if (created_after && created_before) return `from ${dayAndHour(created_after)} to ${dayAndHour(created_before)}`
  if (created_after) return `since ${dayAndHour(created_after)}`
  return created_before && `before ${dayAndHour(created_before)}`
}

function adviceOf(state: string | undefined, { created_after, created_before }: Filter): string {
  const isInPeriod = created_after !== undefined || created_before !== undefined
  if (state === undefined) return 'Choose a longer period, or show all transactions.'
  return isInPeriod ? 'Choose another status or a longer period.' : 'Choose another status, or show all transactions.'
}
