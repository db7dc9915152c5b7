import type { Transaction } from '../../client/index.ts'
import type { SignedTransaction } from './chain.ts'

/** The request for one transaction. Every value is unique, so that a transfer on the chain identifies its transaction. */
export interface Asked {
  accepted_at_ms: number
  /** Its own and those of its replacements. */
  values: bigint[]
  /** Somebody asked for its end: a cancellation that was not refused, or `valid_until`. */
  may_end_withdrawn: boolean
  /** The highest price that a caller gave for it, in wei. */
  given_price: bigint
  /** Only private relays may have it. */
  is_private: boolean
  /** The relayer that took it. */
  relayer_id: string
  in_pool: boolean
}

/** Events that neither the service nor the chain records. */
export interface History {
  asked: Map<string, Asked>
  /** What somebody else signed with the key, by hash. */
  foreign: Map<string, SignedTransaction>
  /** The nonces that somebody else had used, and that a reorganization made free again. */
  given_back: Set<number>
  was_price_lie_told: boolean
  /** A reorganization was deeper than the confirmations. */
  was_final_block_removed: boolean
  /** The most gas that a fork made a transfer cost: what was signed with less may be refused for good. */
  peak_gas: bigint
  /** The only node called transactions hopeless: what it refused for minutes was withdrawn, whether or not it is mined after all. */
  did_only_node_refuse: boolean
  peak_base_fee: bigint
  internal_errors: string[]
  /** Not ended after the faults had stopped. */
  unfinished: Transaction[]
}
