import type { TransactionStatus } from '../../generated/openapi.ts'
import type { Outcome } from './effect.ts'
import type { Tier } from './fees.ts'
import type { Proof } from './proof.ts'
import { type FinalStatus, isFinal } from './statuses.ts'

/*
 * The life of a transaction.
 *
 *   pending ── sign ──▶ sent ── a node takes it ──▶ submitted ── in a block ──▶ mined ── deep enough ──▶ confirmed
 *                                                     ▲                          │                       (or failed:
 *                                                     └── its block is gone ─────┘                        it reverted)
 *
 * - `pending`: stored with its nonce. Nothing is signed.
 * - `sent`: the signed bytes are stored. No node is known to have them; sending them again is harmless. After the tier's time it is
 *   repriced at the market price, because no attempt has to be outbid.
 * - `submitted`: a node has accepted the bytes. When the tier's time has passed and new blocks could have contained it, it is
 *   signed again at the same nonce for at least 10 % more. Earlier attempts stay valid, and any of them may be mined.
 * - `mined`: one of its attempts is in a block that may still be replaced by a reorganization.
 * - `confirmed`, `failed`, `canceled`, `expired`: final.
 *
 * A withdrawal (`intent` cancel, expire or fail) ends a transaction at once only when it was never signed and has the highest
 * nonce, which is then returned. Any other nonce must be used: a zero-value transfer to the account itself is signed at it, and the
 * transaction is canceled, expired or failed when that transfer is confirmed. If the original is mined first, the withdrawal has no
 * effect.
 *
 * When another transaction used the nonce (the key was used outside this service), the transaction gets a new nonce or fails with
 * the reason (sender/nonces/find-nonce-user.ts). Only a transaction from before the start of this process may have been sent by a copy of
 * this service whose newer store was lost: if the other transaction has the same content, its result is taken over.
 */

/** The intended end of a transaction: sent, or withdrawn by cancellation, expiry or failure. */
export type Intent = 'send' | 'cancel' | 'expire' | 'fail'

/** The columns of a transaction that decisions depend on. */
export interface TransactionState {
  status: TransactionStatus
  intent: Intent
  nonce: number
  /** The newest attempt does not match the requested content: sign again. */
  resign: boolean
  /** Milliseconds since the Unix epoch, after which it is not sent any more. */
  valid_until: number | undefined
  /** The block in which it was last seen. */
  block_number: number | null
  block_hash: string | null
  reprice_at: number
  tier: Tier
  /** The caller asked to replace what another sender has put into the pool at this nonce. */
  replaces_external: boolean
}

/** The observations that a decision depends on. */
export interface ChainObservation {
  /** The wall clock: milliseconds since the Unix epoch. */
  now: number
  /** The number of the newest block. */
  head: number
  /** The account's transaction count on chain: every lower nonce is used. */
  latest: number
  /** The required confirmations, including the transaction's own block. */
  confirmations: number
  /** The receipt of any attempt, as one node has it; null: there is none; undefined: not asked yet. */
  receipt: ReceiptView | null | undefined
  /** What all endpoints together say of the receipt; undefined: not asked yet. */
  quorum: Quorum | undefined
  /** Whether another block is at the height of the transaction's block, or most nodes deny that it is in it; undefined: not asked yet. */
  replaced: boolean | undefined
  /** Whether the chain has changed since the last poll. */
  reorganized: boolean
  /** Whether the newest attempt pays the current base fee. */
  payable: boolean
  /**
   * New blocks without the newest attempt, in which it was payable and the account's next one, or in which it was not payable. Time
   * alone proves nothing about a price: the clock may jump, and the chain may stop.
   */
  blocks: number
  /** The first nonce beyond the estimated capacity of the nodes' pools. */
  end: number
  /** The account's count including the pool: a nonce below it that this service never signed belongs to another sender's transaction. */
  pooled: number
  /** Whether the tier's time has passed since the newest attempt was broadcast or looked up. */
  is_silent: boolean
  paused: boolean
}

/** What more than half of all endpoints say of a receipt. */
export type Quorum =
  /** They have it, with the required confirmations. */
  | { is: 'proven'; proof: Proof<ReceiptView> }
  /** They have it, with fewer confirmations. */
  | { is: 'shallow' }
  /** They do not agree about it, or do not have it. */
  | { is: 'disagreed' }

export interface Receipt {
  hash: string
  block_number: number
  block_hash: string
  succeeded: boolean
  /** Absent when the node does not report it. */
  gas_used?: number
  /** The paid fee in wei, including a rollup's data fee; absent when the node does not report it. */
  fee?: bigint
  effective_gas_price?: bigint
  /** The part of `fee` that an OP Stack rollup charges for its data. */
  l1_fee?: bigint
  /** Parts of the fee that are charged and that the receipt does not tell (chain/gas.ts): `fee` lacks them. */
  lacks_fee_parts?: true
  contract_address?: string
  logs_count?: number
  /** What ERC-2771 forwarders tell of the calls that they carried out, in lower case; absent: nothing. */
  forwarded?: { forwarder: string; signer: string; succeeded: boolean }[]
}

export interface ReceiptView extends Receipt {
  /** The purpose of the attempt that is in the block. */
  purpose: 'send' | 'cancel'
  /** Whether its effect took place; absent: its status says all. */
  outcome?: Outcome
}

export type Step =
  | { do: 'rest' }
  /** Get the receipts of all attempts, and decide again. */
  | { do: 'ask' }
  /** Its receipt is gone: check whether its block was replaced, and decide again. */
  | { do: 'verify' }
  /** One node shows its receipt with enough confirmations: ask all endpoints, and decide again. */
  | { do: 'prove' }
  /** A transaction that is not an attempt of it used its nonce: find that transaction. */
  | { do: 'trace' }
  /** It is in this block. */
  | { do: 'note'; seen: ReceiptView }
  /** A node shows it deep in the chain, and most endpoints do not: it waits. */
  | { do: 'doubt'; seen: ReceiptView }
  /** It is no longer in a block: broadcast it again. */
  | { do: 'return' }
  | { do: 'end'; status: FinalStatus; proof: Proof<ReceiptView> }
  /** Its `valid_until` has passed. */
  | { do: 'withdraw' }
  /** Sign it: for the first time, with new content, or (`slow`) at another price if the market requires one. */
  | { do: 'sign'; purpose: 'send' | 'cancel'; slow: boolean }
  | { do: 'broadcast' }
  /** Another sender's transaction has its nonce in the pool: wait for that one. */
  | { do: 'yield' }
  /** It is in no block after the tier's time, without new blocks: ask whether a node has it, and broadcast it again if none does. */
  | { do: 'look' }

/** How many blocks must have left out a transaction before it is repriced; few, because the tier's time must pass too. */
const minBlocks: Record<Tier, number> = { safe_low: 3, average: 2, fast: 2, fastest: 1 }

/** Whether a transaction in a block did what it was sent for, as far as is known. */
export const isDone = ({ succeeded, outcome }: Pick<ReceiptView, 'succeeded' | 'outcome'>): boolean =>
  succeeded && outcome !== 'missed'

/** How a withdrawal ends. */
export const endOfIntent = { cancel: 'canceled', expire: 'expired', fail: 'failed' } as const
/** The longest wait of a tier before repricing. A `reprice_at` further ahead was written before the clock was set back. */
export const repriceMs: Record<Tier, number> = { safe_low: 300_000, average: 120_000, fast: 45_000, fastest: 15_000 }

/** The next step for one transaction. Pure: the result depends only on the arguments. */
export function decide(transaction: TransactionState, sight: ChainObservation): Step {
  if (isFinal(transaction.status)) return { do: 'rest' }
  return onChain(transaction, sight) ?? toSend(transaction, sight)
}

function onChain(transaction: TransactionState, sight: ChainObservation): Step | undefined {
  const { status, nonce, block_hash, block_number } = transaction
  const { receipt, quorum, latest, head, confirmations } = sight
  if (quorum?.is === 'proven') return end(transaction, quorum.proof)
  if (receipt) return onReceipt(transaction, sight, receipt)
  if (block_hash !== null && block_number !== null) {
    // A lagging node has no receipt either, so the block at its height decides.
    if (receipt === null) return sight.replaced === undefined ? { do: 'verify' } : returnOrRest(sight.replaced)
    const due = sight.reorganized || nonce >= latest || head - block_number + 1 >= confirmations
    return due ? { do: 'ask' } : { do: 'rest' }
  }
  if (nonce >= latest) return undefined
  return receipt === undefined && status !== 'pending' ? { do: 'ask' } : { do: 'trace' }
}

const returnOrRest = (replaced: boolean): Step => (replaced ? { do: 'return' } : { do: 'rest' })

/** One node's receipt. Its block is believed neither above the head nor, at first, higher than what the row says. */
function onReceipt(
  { block_number, block_hash }: TransactionState,
  { head, confirmations, quorum }: ChainObservation,
  seen: ReceiptView,
): Step {
  if (seen.block_number > head) return { do: 'rest' }
  const isDeep = head - Math.min(block_number ?? head, seen.block_number) + 1 >= confirmations
  if (isDeep && quorum === undefined) return { do: 'prove' }
  if (isDeep && quorum?.is === 'disagreed') return { do: 'doubt', seen }
  return block_hash === seen.block_hash && block_number === seen.block_number ? { do: 'rest' } : { do: 'note', seen }
}

function end({ intent }: TransactionState, proof: Proof<ReceiptView>): Step {
  const { purpose } = proof.fact
  if (purpose === 'send') return { do: 'end', status: isDone(proof.fact) ? 'confirmed' : 'failed', proof }
  return { do: 'end', status: intent === 'send' ? 'canceled' : endOfIntent[intent], proof }
}

function toSend(transaction: TransactionState, sight: ChainObservation): Step {
  const { now, latest, payable, blocks, end, paused, pooled } = sight
  const { status, intent, resign, nonce, valid_until, reprice_at, tier } = transaction
  if (intent === 'send' && valid_until !== undefined && valid_until <= now) return { do: 'withdraw' }
  if (paused) return { do: 'rest' }
  const purpose = intent === 'send' ? 'send' : 'cancel'
  if (status === 'pending' && nonce < pooled && !transaction.replaces_external) return { do: 'yield' }
  if (status === 'pending' || resign) return { do: 'sign', purpose, slow: false }
  const due = reprice_at <= now || reprice_at > now + repriceMs[tier]
  if (status === 'sent') {
    if (nonce >= end) return { do: 'rest' }
    return due ? { do: 'sign', purpose, slow: true } : { do: 'broadcast' }
  }
  // Behind a lower nonce it cannot be mined at any price, so a higher fee would be wasted.
  const isHeldUp = nonce === latest || !payable
  if (due && isHeldUp && blocks >= minBlocks[tier]) return { do: 'sign', purpose, slow: true }
  return sight.is_silent && nonce === latest ? { do: 'look' } : { do: 'rest' }
}

/** Another transaction of the account that used the nonce, and that more than half of all endpoints have in a block. */
export interface ForeignUse {
  nonce: number
  hash: string
  receipt: Receipt
}

/** The first block of the chain, by more than half of all endpoints: another one, or that of a test chain that was restarted. */
export interface FirstBlock {
  genesis_hash: string
}

/**
 * No bytes were ever stored for its nonce, so no node has any: nothing of it can be on the chain. The revision of the row holds that until
 * the commit, because a signature changes it.
 */
export class NeverSigned {
  readonly #isProof = true

  static is(value: unknown): boolean {
    return value instanceof NeverSigned && value.#isProof
  }

  private constructor() {}

  static of({ status, hash }: { status: string; hash: string | null }): NeverSigned | undefined {
    return status === 'pending' && hash === null ? new NeverSigned() : undefined
  }
}

export const neverSigned = NeverSigned.of

/** How a transaction ends. The store takes a final status in no other form, so that nothing ends without what proves it. */
export interface Ending {
  status: FinalStatus
  proof: Proof<ReceiptView> | Proof<ForeignUse> | Proof<FirstBlock> | NeverSigned
}
