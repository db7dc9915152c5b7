/**
 * At first, so many transactions of an account are sent before nodes have accepted any: Reth and Erigon hold 16 of an account by default.
 * Later ones wait unsigned.
 */
export const firstWindow = 16
/** Accepted transactions with nonces beyond the largest window wait unsigned, in order. */
const maxWindow = 600
/**
 * After a refusal, so many blocks use what it told before one nonce more is tried: of 16 a block, one in 64 sends is refused. Each further
 * refusal doubles the wait: a limit that stays is tried seldom.
 */
const firstWaitBlocks = 4
/** A limit that was lifted is noticed within so many blocks. */
const maxWaitBlocks = 64

/**
 * How many nonces beyond the account's count may be broadcast: what nodes hold of an account, as far as their answers tell. While nodes
 * take all, each broadcast doubles it.
 */
export class NonceWindow {
  size = firstWindow
  /** A node has refused a nonce, and none was taken beyond the window since. */
  isLimited = false
  /** A nonce at its end was broadcast since the last block. */
  #isUsed = false
  /** Blocks that used the window since it last changed, and how many of them end the wait for the next try. */
  #blocks = 0
  #waitBlocks = firstWaitBlocks
  /** By how much it last grew beyond what a refusal told; 0: not since the refusal. */
  #step = 0

  /** How many nonces nodes may hold: as long as none has refused one, what an earlier process has broadcast may be more. */
  get heldByNodes(): number {
    return this.isLimited ? this.size : maxWindow
  }

  /** Nodes have answered a broadcast. `taken`: the nonces that one has; `fullAt`: the lowest nonce that one does not hold any more. */
  noteAnswers(latest: number, { taken, fullAt }: { taken: Iterable<number>; fullAt: number | undefined }): void {
    const held = Math.max(0, ...taken) + 1 - latest
    this.#isUsed ||= held >= this.size || fullAt !== undefined
    if (fullAt !== undefined) this.#narrow(Math.max(fullAt - latest, 1))
    // After a start, nodes may hold more than the window.
    else if (held >= this.size && !this.isLimited) this.size = Math.min(Math.max(held, this.size * 2), maxWindow)
  }

  #narrow(told: number): void {
    if (this.isLimited && told < this.size) this.#waitBlocks = Math.min(this.#waitBlocks * 2, maxWaitBlocks)
    this.size = Math.min(told, this.size)
    this.isLimited = true
    this.#blocks = 0
    this.#step = 0
  }

  /** A block has transactions of ours. While tries are not refused, each next one is twice as large. */
  sawMined(): void {
    if (!this.#isUsed) return
    this.#isUsed = false
    this.#blocks += 1
    if (!this.isLimited || (this.#step === 0 && this.#blocks < this.#waitBlocks)) return
    if (this.#step > 0) this.#waitBlocks = firstWaitBlocks
    this.#step = Math.max(this.#step * 2, 1)
    this.size = Math.min(this.size + this.#step, maxWindow)
    this.isLimited = this.size < maxWindow
  }
}
