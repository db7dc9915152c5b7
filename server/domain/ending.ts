import type { Receipt, ReceiptView } from './decide.ts'
import type { Proof } from './proof.ts'
import type { FinalStatus } from './statuses.ts'

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
