/**
 * What servers on one database tell each other, so that they need not wait until they look by themselves. A signal that is lost costs
 * time only.
 * - `work`: the relayer has a new transaction for its sender.
 * - `poll`: its sender shall read the chain at once; `resend`: and broadcast all signed transactions again.
 * - `changed`: a transaction, or its events, changed.
 * - `leases`: leases are free.
 */
export type Signal =
  | { kind: 'work' | 'poll' | 'resend'; relayer_row_id: number }
  | { kind: 'changed' }
  | { kind: 'leases' }

/** `undefined`: signals may have been lost, and everything must be looked at. */
export type HearSignal = (signal: Signal | undefined) => void

/** How this process learns of the changes of others before it looks by itself. */
export interface SignalStore {
  /**
   * Changes when another process may have committed something that no signal reported. It is read without waiting, and cheap enough for
   * frequent polling.
   */
  version(): number
  /** Tells the other servers, soon and without waiting. */
  tell(signal: Signal): void
  /** Hears the signals of the other servers. */
  subscribe(heard: HearSignal): void
}
