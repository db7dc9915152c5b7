export interface ApiKeyUses {
  note(api_key_id: string): void
  /** Writes the remaining uses and stops the timer. */
  stop(): Promise<void>
}

const flush_ms = 5_000

/** Batches the last use of each API key, so that a request costs no write. `now`: milliseconds since the epoch. */
export function createApiKeyUses(
  write: (uses: ReadonlyMap<string, string>) => Promise<void>,
  now: () => number,
  failed: (error: unknown) => void,
): ApiKeyUses {
  let uses = new Map<string, number>()

  const flush = async () => {
    if (uses.size === 0) return
    const noted = uses
    uses = new Map()
    try {
      await write(new Map([...noted].map(([id, at]) => [id, new Date(at).toISOString()])))
    } catch (error) {
      failed(error)
    }
  }
  const timer = setInterval(flush, flush_ms).unref()

  return {
    note: (api_key_id) => void uses.set(api_key_id, now()),
    async stop() {
      clearInterval(timer)
      await flush()
    },
  }
}
