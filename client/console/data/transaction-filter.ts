import type { Filter } from './filter.ts'
import { periodOf } from './period.ts'

/** As many as the service finds by a text. */
export const max_found = 1_000

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
