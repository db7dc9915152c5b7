import type { Balance } from './metrics.ts'

const maxRelayers = 100
const refreshMs = 30_000

interface Metered {
  id: string
  chain_id: number
  policies: { min_balance?: string }
}

interface BalancesContext<Relayer extends Metered> {
  /** At most `limit` relayers. */
  relayers(limit: number): Promise<Relayer[]>
  /** In wei. Undefined, or a rejection, when the balance is unknown. */
  balanceOf(relayer: Relayer): Promise<bigint | undefined>
  /** A monotonic clock in milliseconds. */
  elapsed(): number
}

/**
 * Returns the last known balances without waiting for a node. A call starts a refresh in the background, at most every 30 s: it
 * reads the first 100 relayers in sequence, and a later call returns the result.
 */
export class Balances<Relayer extends Metered> {
  readonly #context: BalancesContext<Relayer>
  #seen: Balance[] = []
  #polledAt = Number.NEGATIVE_INFINITY
  #polling = false

  constructor(context: BalancesContext<Relayer>) {
    this.#context = context
  }

  read(): Balance[] {
    if (!this.#polling && this.#context.elapsed() - this.#polledAt >= refreshMs) {
      this.#polling = true
      this.#polledAt = this.#context.elapsed()
      void this.#poll()
        .catch(() => undefined)
        .finally(() => {
          this.#polling = false
        })
    }
    return this.#seen
  }

  async #poll(): Promise<void> {
    const found: Balance[] = []
    for (const relayer of await this.#context.relayers(maxRelayers)) {
      const wei = await this.#context.balanceOf(relayer).catch(() => undefined)
      const { id: relayerId, chain_id, policies } = relayer
      const minBalance = BigInt(policies.min_balance ?? 0)
      if (wei !== undefined) found.push({ relayer_id: relayerId, chain_id, wei, min_balance: minBalance })
    }
    this.#seen = found
  }
}
