import { AsyncLocalStorage } from 'node:async_hooks'
import { LeaseLost, type WorkKind } from '../work-share.ts'

/** The lease under which work runs on a row. The token never repeats: each lease has another one. */
export interface Fence {
  kind: WorkKind
  row_id: number
  token: number
}

/**
 * The fence of the present work: every change of the store that it makes carries it, so that no method can forget it. Requests have
 * none.
 */
export interface Fences {
  current(): Fence | undefined
  run<T>(fence: Fence, work: () => Promise<T>): Promise<T>
  /** `lost`: called when a database transaction finds that a lease is another server's. */
  onLost(lost: (fence: Fence) => void): void
  begin: Begin
}

/** Begins a database transaction. One message. */
export interface Begin {
  /** `lock_ms`: a statement that waits longer for a lock fails (55P03). */
  text(fences: readonly Fence[], lock_ms?: number): string
  /** Throws LeaseLost. */
  check(fences: readonly Fence[], results: unknown): void
}

export function createFences(): Fences {
  const present = new AsyncLocalStorage<Fence>()
  const listeners: ((fence: Fence) => void)[] = []

  return {
    current: () => present.getStore(),
    run: (fence, work) => present.run(fence, work),
    onLost: (lost) => void listeners.push(lost),
    begin: {
      // FOR SHARE: a server that takes a lease over waits for the database transactions under it, and later ones do not find it.
      // Only numbers and words of this program are in the text.
      text(fences, lock_ms) {
        const begin = lock_ms === undefined ? 'BEGIN' : `BEGIN; SET LOCAL lock_timeout = ${lock_ms}`
        if (fences.length === 0) return begin
        const wanted = fences.map(({ kind, row_id, token }) => `('${kind}', ${row_id}, ${token})`)
        return `${begin}; SELECT token FROM work_leases WHERE (kind, row_id, token) IN (${wanted.join(', ')})
          ORDER BY kind, row_id FOR SHARE`
      },
      check(fences, results) {
        if (fences.length === 0) return
        const { rows } = (results as { rows: { token: number }[] }[]).at(-1) as { rows: { token: number }[] }
        const found = new Set(rows.map(({ token }) => token))
        const lost = fences.filter(({ token }) => !found.has(token))
        if (lost.length === 0) return
        for (const fence of lost) for (const tell of listeners) tell(fence)
        throw new LeaseLost()
      },
    },
  }
}
