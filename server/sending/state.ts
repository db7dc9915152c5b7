import type { TransactionStatus } from '../../generated/openapi.ts'
import type { Intent } from '../store/rows.ts'
import type { Tier } from './dependencies.ts'

/*
 * The life of a transaction.
 *
 *   pending ── sign ──▶ sent ── a node takes it ──▶ submitted ── in a block ──▶ mined ── deep enough ──▶ confirmed
 *                                                     ▲                          │                       (or failed:
 *                                                     └── its block is gone ─────┘                        it reverted)
 *
 * - `pending`: it has its nonce and is on the disk. Nothing is signed.
 * - `sent`: its bytes are on the disk. No node is known to have them; sending them again changes nothing. After the tier's time
 *   they are priced anew, by the market alone: nothing has to be outbid.
 * - `submitted`: a node has said that it has them. Too slow: signed anew at the same nonce for at least 10 % more, when the
 *   tier's time has passed and new blocks came that could have held it. The older bytes stay valid, so whichever of them is
 *   mined decides.
 * - `mined`: one of its byte strings is in a block that may still be replaced by another.
 * - `confirmed`, `failed`, `canceled`, `expired`: the end.
 *
 * A withdrawal (`intent` cancel, expire or fail) ends a transaction at once only when it was never signed and has the highest
 * nonce, which is then given back. Any other nonce must be used up: a transfer of nothing to the account itself is signed at
 * it, and the transaction is withdrawn (canceled, expired, failed) when that is deep enough. When the original was faster
 * after all, it goes on as if nothing had been asked.
 *
 * A nonce that something else used up (the key was used elsewhere) ends a transaction as `failed`, and says by what; unless
 * that something is this very transaction, sent by a service whose newer store was lost: then it is taken over.
 */

/** The part of a transaction that decisions are made from. */
export interface Tracked {
  status: TransactionStatus
  intent: Intent
  nonce: number
  /** What was signed last is not what is wanted now. */
  resign: boolean
  /** Milliseconds of the epoch after which it is not sent any more. */
  valid_until: number | undefined
  /** The block it was last seen in. */
  block_number: number | null
  block_hash: string | null
  reprice_at: number
  tier: Tier
}

/** What is known of the world when a decision is made. */
export interface Sight {
  /** Milliseconds of the epoch. */
  now: number
  /** The number of the newest block. */
  head: number
  /** How many of the account's transactions are in the chain: every nonce below is used. */
  latest: number
  /** How deep is deep enough, the transaction's own block counted. */
  confirmations: number
  /** Of any of its byte strings; null when there is none, undefined when nobody has asked. */
  receipt: Seen | null | undefined
  /** Whether another block is at the height of the transaction's block; undefined when nobody has asked. */
  replaced: boolean | undefined
  /** The chain is not what it was when we looked last. */
  reorganized: boolean
  /** Whether a block with today's base fee can take what was signed last. */
  payable: boolean
  /**
   * New blocks since what was signed last is as it is: payable and the next of its account, or not payable. Time alone proves
   * nothing about a price: the clock may jump, the chain may stand still.
   */
  blocks: number
  /** The first nonce for which the nodes are thought to have no room. */
  end: number
  paused: boolean
}

export interface Seen {
  hash: string
  block_number: number
  block_hash: string
  succeeded: boolean
  gas_used?: number
  fee?: bigint
  /** Which of its byte strings it was. */
  purpose: 'send' | 'cancel'
}

export type Step =
  | { do: 'rest' }
  /** Get the receipts of all that was signed for it, and decide again. */
  | { do: 'ask' }
  /** It has no receipt any more: find out whether its block was replaced, and decide again. */
  | { do: 'verify' }
  /** Something that we did not sign, or do not remember, has its nonce. */
  | { do: 'trace' }
  /** It is in this block. */
  | { do: 'note'; seen: Seen }
  /** It is no longer in a block: send it again. */
  | { do: 'return' }
  | { do: 'end'; status: 'confirmed' | 'failed' | 'canceled' | 'expired'; seen: Seen }
  /** Its time has passed. */
  | { do: 'withdraw' }
  /** Sign it: for the first time, as something else, or (`slow`) at another price, if the market asks one. */
  | { do: 'sign'; purpose: 'send' | 'cancel'; slow: boolean }
  | { do: 'broadcast' }

/** How many blocks must have left out what could pay more; few, as the tier's time must have passed too. */
const min_blocks: Record<Tier, number> = { safe_low: 3, average: 2, fast: 2, fastest: 1 }

const endOfIntent = { cancel: 'canceled', expire: 'expired', fail: 'failed' } as const
/** How long a tier waits for a block before it pays more. A date further ahead was set before the clock went back. */
export const reprice_ms: Record<Tier, number> = { safe_low: 300_000, average: 120_000, fast: 45_000, fastest: 15_000 }

/** What is to be done next with one transaction. Pure: the same transaction and the same sight give the same step. */
export function decide(transaction: Tracked, sight: Sight): Step {
  if (isEnded(transaction.status)) return { do: 'rest' }
  return onChain(transaction, sight) ?? toSend(transaction, sight)
}

function onChain(transaction: Tracked, sight: Sight): Step | undefined {
  const { status, nonce, block_hash, block_number } = transaction
  const { receipt, latest, head, confirmations } = sight
  if (receipt) return settle(transaction, sight, receipt)
  if (block_hash !== null && block_number !== null) {
    // A node that lags has no receipt either: only the block at its height tells.
    if (receipt === null) return sight.replaced === undefined ? { do: 'verify' } : returnOrRest(sight.replaced)
    const due = sight.reorganized || nonce >= latest || head - block_number + 1 >= confirmations
    return due ? { do: 'ask' } : { do: 'rest' }
  }
  if (nonce >= latest) return undefined
  return receipt === undefined && status !== 'pending' ? { do: 'ask' } : { do: 'trace' }
}

const returnOrRest = (replaced: boolean): Step => (replaced ? { do: 'return' } : { do: 'rest' })

function settle({ intent, block_hash }: Tracked, { head, confirmations }: Sight, seen: Seen): Step {
  if (head - seen.block_number + 1 < confirmations) {
    return block_hash === seen.block_hash ? { do: 'rest' } : { do: 'note', seen }
  }
  if (seen.purpose === 'send') return { do: 'end', status: seen.succeeded ? 'confirmed' : 'failed', seen }
  return { do: 'end', status: intent === 'send' ? 'canceled' : endOfIntent[intent], seen }
}

function toSend(transaction: Tracked, { now, latest, payable, blocks, end, paused }: Sight): Step {
  const { status, intent, resign, nonce, valid_until, reprice_at, tier } = transaction
  if (intent === 'send' && valid_until !== undefined && valid_until <= now) return { do: 'withdraw' }
  if (paused) return { do: 'rest' }
  const purpose = intent === 'send' ? 'send' : 'cancel'
  if (status === 'pending' || resign) return { do: 'sign', purpose, slow: false }
  const due = reprice_at <= now || reprice_at > now + reprice_ms[tier]
  if (status === 'sent') {
    if (nonce >= end) return { do: 'rest' }
    return due ? { do: 'sign', purpose, slow: true } : { do: 'broadcast' }
  }
  // Behind a lower nonce it cannot be mined whatever it pays; a higher fee would be paid for nothing.
  const isHeldUp = nonce === latest || !payable
  return due && isHeldUp && blocks >= min_blocks[tier] ? { do: 'sign', purpose, slow: true } : { do: 'rest' }
}

export const isEnded = (status: TransactionStatus): boolean =>
  status === 'confirmed' || status === 'failed' || status === 'canceled' || status === 'expired'
