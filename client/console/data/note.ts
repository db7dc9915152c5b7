import type { Transaction } from '../../index.ts'
import { withGroups, words } from './format.ts'

/** The beginnings of the reasons to wait, as the service writes them, in two or three words. The first that fits. */
const waits: [RegExp, string][] = [
  [/^nonce (\d+) comes first/, 'nonce $1 first'],
  [/^the policy gas_price_cap/, 'price cap'],
  [/^the policy max_fee_/, 'fee limit'],
  [/^the base fee/, 'base fee above price'],
  [/^its price is below|^the request allows a price/, 'price too low'],
  [/^the balance is too low/, 'balance too low'],
  [/^nodes refuse it|^the node says/, 'refused by nodes'],
  [/^the relayer is (paused|disabled)/, 'relayer $1'],
  [/^the key service does not sign/, 'key service'],
  [/^(?:no private relay|the private relays)/, 'private relay'],
  [/^a node counts/, 'nonce uncertain'],
]

/**
 * The note of a transaction in a list: its reason in two or three words, then its reference. `whole`: the whole reason in the place of the
 * words. Without a reference there is room for more of the reason. Both are empty where it has neither.
 */
export function noteOf(its: Pick<Transaction, 'status' | 'status_reason' | 'error' | 'reference'>): {
  text: string
  whole: string
} {
  const reason = its.status_reason === null ? null : withGroups(its.status_reason)
  const isBare = its.status === 'failed' && its.reference === null
  const text = isBare ? reason : inWords(its)
  const joined = (first: string | null) => [first, its.reference].filter((part) => part !== null).join(' · ')
  return { text: joined(text), whole: joined(reason) }
}

function inWords({ status, status_reason: reason, error }: Parameters<typeof noteOf>[0]): string | null {
  if (reason === null) return null
  if (status === 'failed' && error !== null && error.code !== 'other') return words(error.code)
  const wait = /(?:^|; )Waits: (.*)$/s.exec(reason)?.[1]
  if (wait === undefined) return withGroups(reason)
  for (const [beginning, short] of waits) {
    const found = beginning.exec(wait)
    if (found) return short.replace('$1', found[1] ?? '')
  }
  return withGroups(wait)
}
