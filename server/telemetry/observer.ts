import type { TransactionStatus, WaitingFor } from '../../generated/openapi.ts'

/**
 * What the parts tell of their work, to whoever counts it or traces it (service.ts joins them). Every member may be absent, and
 * then costs nothing. None of them throws, and none is told a secret.
 */
export interface Observer {
  /** A key has signed. */
  signed?(kind: SignatureKind): void
  /** A transaction was accepted, or has another state. */
  moved?(status: TransactionStatus): void
  /** A transaction makes no progress, for this reason. Told once per transaction and reason. */
  waits?(wait: {
    relayer_id: string
    transaction_id: string
    nonce: number | null
    waiting_for: WaitingFor
    reason: string | null
  }): void
  /** An account's nonces needed care: the counter was raised or lowered, a nonce was filled, a node's count was refused. */
  nonceNoticed?(event: string, fields: { relayer_id: string; [field: string]: unknown }): void
  /** What a transaction has cost its relayer, in wei. */
  paid?(chain_id: number, fee: bigint): void
  /** An attempt at a delivery came to this. */
  delivered?(outcome: DeliveryOutcome, duration_ms: number): void
  /** A row that grants rights is not as the service wrote it. */
  rowRefused?(table: string): void
  /** The database has committed, or rolled back. */
  committed?(duration_ms: number): void
  /** Around an exchange with a node, which rejects when it does not come to an answer. */
  rpc?: Around<{ host: string; methods: string[] }>
  /** An RPC endpoint is not usable any more: it failed several times in a row, or is on another chain. Told once per change. */
  endpointDown?(endpoint: { host: string; chain_id: number; reason: string }): void
  /** An endpoint that was down answers again. */
  endpointUp?(endpoint: { host: string; chain_id: number; reason: string }): void
  /** Sending has stopped for a relayer, with the reason; null: it goes on. */
  relayerChanged?(relayer: { relayer_id: string; disabled_reason: string | null }): void
  /** Around an attempt at a delivery. */
  attempt?<T extends { status: number | null; error: string | null }>(
    work: { host: string; event_id: string; number: number },
    run: () => Promise<T>,
  ): Promise<T>
}

export type SignatureKind = 'message' | 'typed_data' | 'transaction' | 'sent_transaction'

/** `pending`: it will be tried again. */
export type DeliveryOutcome = 'delivered' | 'pending' | 'failed'

export type Around<Work> = <T>(work: Work, run: () => Promise<T>) => Promise<T>
