import type { Balance } from './metrics.ts'

const maxRelayers = 100
const refreshMs = 30_000

export interface Metered {
  id: string
  chain_id: number
  policies: { min_balance?: string }
}

export interface BalancesDependencies<Relayer extends Metered> {
  /** At most `limit` relayers. */
  relayers(limit: number): Promise<Relayer[]>
  /** In wei. Undefined, or a rejection, when the balance is unknown. */
  read(relayer: Relayer): Promise<bigint | undefined>
  /** A monotonic clock in milliseconds. */
  elapsed(): number
}

/**
 * Returns the last known balances without waiting for a node. A call starts a refresh in the background, at most every 30 s: it
 * reads the first 100 relayers in sequence, and a later call returns the result.
 */
export function createBalances<Relayer extends Metered>({
  relayers,
  read,
  elapsed,
}: BalancesDependencies<Relayer>): () => Balance[] {
  let seen: Balance[] = []
  let polledAt = Number.NEGATIVE_INFINITY
  let polling = false

  async function poll(): Promise<void> {
    const found: Balance[] = []
    for (const relayer of await relayers(maxRelayers)) {
      const wei = await read(relayer).catch(() => undefined)
      const { id: relayerId, chain_id, policies } = relayer
      const minBalance = BigInt(policies.min_balance ?? 0)
      if (wei !== undefined) found.push({ relayer_id: relayerId, chain_id, wei, min_balance: minBalance })
    }
    seen = found
  }

  return () => {
    if (!polling && elapsed() - polledAt >= refreshMs) {
      polling = true
      polledAt = elapsed()
      void poll()
        .catch(() => undefined)
        .finally(() => {
          polling = false
        })
    }
    return seen
  }
}
