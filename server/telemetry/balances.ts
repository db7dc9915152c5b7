import type { Balance } from './metrics.ts'

const max_relayers = 100
const refresh_ms = 30_000

export interface BalancesDependencies<Relayer extends { id: string; chain_id: number }> {
  /** At most as many. */
  relayers(limit: number): Promise<Relayer[]>
  /** Undefined, or a rejection, where nobody can say. */
  read(relayer: Relayer): Promise<bigint | undefined>
  /** Milliseconds, never going back. */
  elapsed(): number
}

/**
 * The balances as they were last seen. Whoever asks never waits for a node: asking begins a look at the first hundred relayers,
 * at most every 30 s and one after the other, and the next one hears of it.
 */
export function createBalances<Relayer extends { id: string; chain_id: number }>({
  relayers,
  read,
  elapsed,
}: BalancesDependencies<Relayer>): () => Balance[] {
  let seen: Balance[] = []
  let lookedAt = Number.NEGATIVE_INFINITY
  let looking = false

  async function look(): Promise<void> {
    const found: Balance[] = []
    for (const relayer of await relayers(max_relayers)) {
      const wei = await read(relayer).catch(() => undefined)
      if (wei !== undefined) found.push({ relayer_id: relayer.id, chain_id: relayer.chain_id, wei })
    }
    seen = found
  }

  return () => {
    if (!looking && elapsed() - lookedAt >= refresh_ms) {
      looking = true
      lookedAt = elapsed()
      void look()
        .catch(() => undefined)
        .finally(() => {
          looking = false
        })
    }
    return seen
  }
}
