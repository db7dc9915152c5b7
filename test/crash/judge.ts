import { isDeepStrictEqual } from 'node:util'
import type { Transaction } from '../../client/index.ts'
import { amountOf, keyOf, type Tally } from './clients.ts'
import type { ChainEvidence, StoreEvidence } from './evidence.ts'

/** The counts of violations: each is 0 if the service keeps its guarantees. */
export interface Verdict {
  /** Submissions that were never answered 201. */
  unaccepted: number
  /** Accepted ids that are not in the list exactly once, and listed ids that no response contained. */
  unlisted: number
  /** Listed, and not `confirmed`. */
  unconfirmed: number
  /** Submissions that are not on the chain. */
  lost: number
  /** Transactions on the chain beyond a submission's first, or of no submission at all. */
  twice: number
  /** Nonces from 0 up that the chain or the list lacks. */
  gaps: number
  /** Transactions without a receipt of success that no other has. */
  receipts: number
  /** Transactions on the chain whose bytes the store does not have. */
  unrecorded: number
  /** Broadcast bytes that the store does not have, and bytes beyond the first for one nonce and price. */
  rebroadcast: number
  /** Broadcast bytes that are not signed by the relayer's key. */
  signatures: number
  /** Transactions and sequences with missing, repeated or misordered events. */
  events: number
  /** First responses that differ between their sources, unexpected responses, and errors in the log. */
  answers: number
  /** The difference between the store's next nonce and the expected one. */
  counter: number
  /** Errors that SQLite's integrity check finds. */
  database: number
}

export type ColumnName = keyof Verdict

export interface Evidence {
  /** The submissions. */
  indexes: number[]
  accepted: Map<number, Transaction>
  tally: Tally
  logged: string[]
  listed: Transaction[]
  chain: ChainEvidence
  store: StoreEvidence
  /** The hashes of transactions that were sent to nodes. */
  broadcast: string[]
  /** How many of their bytes are not signed by the relayer's key. */
  wrong_signatures: number
}

/** A kill may come between a node's taking it and our writing so: then it is next seen in a block. */
const path = /^pending sent (submitted )?mined confirmed$/

export function judge(evidence: Evidence): Verdict {
  const { indexes, accepted, tally, logged, listed, chain, store } = evidence
  const submissions = indexes.length
  const onChain = countBy(chain.transactions, ({ value }) => value)
  const inList = countBy(listed, ({ id }) => id)
  const heard = new Set([...accepted.values()].map(({ id }) => id))
  const chainNonces = new Set(chain.transactions.map(({ nonce }) => nonce))
  const listNonces = new Set(listed.map(({ nonce }) => nonce))
  const receipts = new Set(chain.receipts)
  const recorded = new Set(store.hashes)
  const lost = indexes.filter((index) => !onChain.has(amountOf(index))).length

  return {
    unaccepted: submissions - accepted.size,
    unlisted: [...heard].filter((id) => inList.get(id) !== 1).length + listed.filter(({ id }) => !heard.has(id)).length,
    unconfirmed: listed.filter(({ status }) => status !== 'confirmed').length,
    lost,
    twice: chain.transactions.length - (submissions - lost),
    gaps: indexes.filter((_, nonce) => !chainNonces.has(nonce) || !listNonces.has(nonce)).length,
    receipts: submissions - new Set(listed.flatMap(({ hash }) => (hash && receipts.has(hash) ? [hash] : []))).size,
    unrecorded: chain.transactions.filter(({ hash }) => !recorded.has(hash)).length,
    rebroadcast: wrongBroadcasts(evidence.broadcast, store),
    signatures: evidence.wrong_signatures,
    events: wrongEvents(listed, store) + wrongSequences(store),
    answers: tally.contradictions + tally.wrong.length + logged.length + wrongAnswers(accepted, store),
    counter: Math.abs(store.next_nonce - submissions),
    database: store.damage.length,
  }
}

/** A key service returns a different signature each time: only the bytes that were stored first may be sent. */
function wrongBroadcasts(broadcast: string[], { prices }: StoreEvidence): number {
  const stored = broadcast.flatMap((hash) => prices.get(hash) ?? [])
  return broadcast.length - new Set(stored).size
}

/** The first event equals the first response, the last one equals the row, and the events between them contain every status. */
function wrongEvents(listed: Transaction[], { events, answers }: StoreEvidence): number {
  const told = Map.groupBy(events, ({ payload }) => payload.id)
  const promised = new Map([...answers.values()].map((answer) => [answer.id, withoutWarnings(answer)]))
  const isWhole = (transaction: Transaction) => {
    const payloads = (told.get(transaction.id) ?? []).map(({ payload }) => payload)
    const states = payloads.map(({ status }) => status).join(' ')
    const isFramed =
      isDeepStrictEqual(payloads[0], promised.get(transaction.id)) && isDeepStrictEqual(payloads.at(-1), transaction)
    const isWhole = path.test(states) && isFramed
    if (!isWhole)
      console.error(
        'Not the whole story:',
        states,
        payloads[0],
        payloads.at(-1),
        'answered',
        promised.get(transaction.id),
        'listed',
        transaction,
      )
    return isWhole
  }
  return listed.filter((transaction) => !isWhole(transaction)).length
}

/** Only the response has warnings. */
function withoutWarnings(answer: Transaction & { warnings?: unknown }): Transaction {
  const { warnings: _, ...transaction } = answer
  return transaction
}

function wrongSequences({ events }: StoreEvidence): number {
  return [...Map.groupBy(events, ({ relayer_row_id }) => relayer_row_id).values()]
    .map((own) => own.filter(({ sequence }, index) => sequence !== index + 1).length)
    .reduce((sum, wrong) => sum + wrong, 0)
}

const wrongAnswers = (accepted: Map<number, Transaction>, { answers }: StoreEvidence): number =>
  [...accepted].filter(([index, heard]) => !isDeepStrictEqual(answers.get(keyOf(index)), heard)).length

function countBy<T, K>(items: T[], by: (item: T) => K): Map<K, number> {
  const counts = new Map<K, number>()
  for (const item of items) counts.set(by(item), (counts.get(by(item)) ?? 0) + 1)
  return counts
}
