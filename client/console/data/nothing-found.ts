import type { Filter } from './filter.ts'
import { short } from './format.ts'
import { dayAndHour } from './times.ts'

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
  const content = contentOf(filter)
  const state = states[group]
  const title = ['No', state ?? 'transaction', periodOf(filter), content?.text].filter((part) => part !== undefined)
  return { title: title.join(' '), advice: content?.advice ?? adviceOf(state, filter) }
}

function contentOf({ search, reference, hash, to, nonce_from, nonce_to }: Filter) {
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

function periodOf({ created_after, created_before }: Filter): string | undefined {
  if (created_after && created_before) return `from ${dayAndHour(created_after)} to ${dayAndHour(created_before)}`
  if (created_after) return `since ${dayAndHour(created_after)}`
  return created_before && `before ${dayAndHour(created_before)}`
}

function adviceOf(state: string | undefined, { created_after, created_before }: Filter): string {
  const isInPeriod = created_after !== undefined || created_before !== undefined
  if (state === undefined) return 'Choose a longer period, or show all transactions.'
  return isInPeriod ? 'Choose another status or a longer period.' : 'Choose another status, or show all transactions.'
}
