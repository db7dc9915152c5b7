/**
 * A fact that is proven. Only chain/proofs.ts makes proofs (dependency-cruiser holds that): more than half of ALL configured endpoints
 * agree, or signed bytes recover to the account and the chain. Every step that cannot be taken back takes a proof as its parameter: a
 * final state, a new nonce for a signed transaction, raising the counter, disabling and enabling, releasing private bytes. Anything else
 * that a node says is a hint: it may start a look, a delay or a broadcast.
 */
export class Proof<T> {
  readonly fact: T
  // A private member: an object that only looks like a proof does not compile.
  readonly #isProof = true

  constructor(fact: T) {
    this.fact = fact
  }

  static is(value: unknown): boolean {
    return value instanceof Proof && value.#isProof
  }
}
