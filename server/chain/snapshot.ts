import type { Block } from './answers.ts'
import { RpcError } from './rpc.ts'

/** Behind one URL may be nodes of which some lack the newest block: each of its answers may come from another one. */
const maxAsked = 3

/** The newest block of a node. */
export interface Head extends Pick<Block, 'number' | 'hash' | 'parent_hash'> {
  /** As in `Block`. */
  at_ms?: number | undefined
  base_fee?: bigint | undefined
}

/** Questions about the state after a block. `block`: its number as hex with 0x. */
export interface StateQuestions {
  nonceAt(address: string, block: string): Promise<number>
  balanceAt(address: string, block: string): Promise<bigint>
  tokenBalanceAt(token: string, owner: string, block: string): Promise<bigint>
}

/** What an account has at one block: the number of its transactions in the chain, and its balance in wei. */
export interface AccountSnapshot {
  head: Head
  latest: number
  balance: bigint
}

/**
 * The state of the chain after one block, for decisions about money. Every question names the block, so that its answers are of one
 * moment, whichever nodes behind a URL give them. A node that lacks the block fails. All throw RpcError or RpcUnavailable.
 */
export class Snapshot {
  readonly head: Head
  // A private member: loose values of an account do not compile in place of a snapshot.
  readonly #questions: StateQuestions

  constructor(questions: StateQuestions, head: Head) {
    this.#questions = questions
    this.head = head
  }

  latestNonce(address: string): Promise<number> {
    return this.#ask((block) => this.#questions.nonceAt(address, block))
  }

  /** `asset`: `coin`, or a token's address. 0 when the address is no token. */
  balance(address: string, asset = 'coin'): Promise<bigint> {
    return this.#ask((block) =>
      asset === 'coin'
        ? this.#questions.balanceAt(address, block)
        : this.#questions.tokenBalanceAt(asset, address, block),
    )
  }

  async account(address: string): Promise<AccountSnapshot> {
    const [latest, balance] = await Promise.all([this.latestNonce(address), this.balance(address)])
    return { head: this.head, latest, balance }
  }

  async #ask<T>(question: (block: string) => Promise<T>): Promise<T> {
    const block = `0x${this.head.number.toString(16)}`
    for (let asked = 1; ; asked += 1) {
      try {
        return await question(block)
      } catch (error) {
        if (!(error instanceof RpcError) || error.kind !== 'not_found' || asked === maxAsked) throw error
      }
    }
  }
}
