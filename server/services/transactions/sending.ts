import type { NonceState, SendTransactionRequest } from '../../../generated/openapi.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import type { PendingAuditEntry, PoolRow, RelayerRow } from '../../domain/rows.ts'
import type { createDryRun, DryRunResult } from './dry-run.ts'
import type { Submit } from './send.ts'
import type { Waiting } from './wait-for-status.ts'

/** What the operations ask of sending. app/sender.ts puts it together. */
export interface Sending {
  submit: Submit
  /** The settings of a relayer's funding were changed. */
  fund(relayerRowId: number): void
  dryRun: ReturnType<typeof createDryRun>
  /** For the relayer of the pool that would take it now; if none would, for the first choice. */
  dryRunInPool(nodes: NodeAccess, pool: PoolRow, body: SendTransactionRequest): Promise<DryRunResult>
  waitUntil: Waiting['until']
  nextChange: Waiting['nextChange']
  /** Reports a change, to wake waiting requests here and on other servers. */
  changed(): void
  /** Makes the relayer's sender read the chain at once. `resend`: and broadcast again what is not in a block. */
  pollNow(relayerRowId: number, resend?: boolean): void
  /** `latest`, `pending`: the counts of the chain; undefined: unknown. */
  nonceState(
    relayer: RelayerRow,
    latest: number | undefined,
    pending: number | undefined,
  ): Promise<Omit<NonceState, 'chain_pending' | 'blocking'>>
  /** The nonce that the relayer's next transaction gets: the counter, or the chain's count where that is ahead. */
  nextNonce(relayer: RelayerRow): Promise<number>
  /**
   * Reconciles the nonces with the chain now, even when there is nothing to send. `stated_nonce`: the account's transaction count,
   * as the operator knows it. Throws DomainError (409).
   */
  heal(relayer: RelayerRow, statedNonce: number | undefined): Promise<void>
  /** Notes in the background what the address of a new relayer has sent until now. */
  noteNew(relayer: RelayerRow): void
  /** Resets the relayer for a restarted test chain. Throws DomainError (409) when the chain did not restart or is not a test chain. */
  restart(relayer: RelayerRow, auditEntry: PendingAuditEntry): Promise<void>
}
