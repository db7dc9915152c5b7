import type { FundingStatus, TransactionStatus, WaitReason } from '../../generated/openapi.ts'

/**
 * The events that modules report to the log, the metrics and the traces. Every member is optional. Members do not throw, and
 * receive no secrets.
 */
export interface Observer {
  /** A key signed. */
  signed?(kind: SignatureKind): void
  /** A transaction was accepted, or its status changed. */
  moved?(status: TransactionStatus): void
  /** A transaction makes no progress. Reported once per transaction and reason. */
  waits?(wait: {
    relayer_id: string
    transaction_id: string
    nonce: number | null
    wait_reason: WaitReason
    reason: string | null
  }): void
  /** The nonce counter was raised or lowered, a gap was filled, or a node's transaction count was refused. */
  nonceNoticed?(event: string, fields: { relayer_id: string; [field: string]: unknown }): void
  /** The chain or a node has a transaction of a relayer's address that this service did not send. `hash`: null when no node shows it. */
  foreignTransaction?(foreign: { relayer_id: string; nonce: number; hash: string | null }): void
  /** The fee that a relayer paid for a finished transaction, in wei. */
  paid?(chainId: number, fee: bigint): void
  /** A delivery attempt ended. */
  delivered?(outcome: DeliveryOutcome, durationMs: number): void
  /** Another program changed a row that grants rights. */
  rowRefused?(table: string): void
  /** The audit trail cannot be written, or can again. Reported once per change. */
  auditWritable?(isWritable: boolean): void
  /** Background work failed, or the search for it. It is tried again. */
  backgroundFailed?(kind: string): void
  /** A database transaction committed or rolled back. */
  committed?(durationMs: number): void
  /** Wraps a request to a node. It rejects when the node does not answer. */
  rpc?: Around<{ host: string; isCustom: boolean; methods: string[] }>
  /** An RPC endpoint failed several times in a row, or is on another chain. Reported once per change. */
  endpointDown?(endpoint: { host: string; chain_id: number; reason: string }): void
  /** An endpoint that was down answers again. */
  endpointUp?(endpoint: { host: string; chain_id: number; reason: string }): void
  /** An RPC endpoint gave an answer above the limits of its method. Reported at most once a minute per endpoint. */
  endpointAnsweredTooMuch?(endpoint: EndpointFault): void
  /** An RPC endpoint gave an answer that cannot be read, and proves nothing. Reported at most once a minute per endpoint. */
  endpointAnswerMalformed?(endpoint: EndpointFault): void
  /** A call for a signature by a key service ended. */
  keyServiceCalled?(call: { type: string; outcome: string; duration_ms: number }): void
  /** More signatures wait for key services of the type, or fewer. */
  keyServiceWaits?(type: string, change: number): void
  /** A key service does not sign with a key. Reported once per change. `detail`: as the key service worded it. */
  keyServiceDown?(key: { type: string; address: string; reason: string; detail: string }): void
  /** It signs again. */
  keyServiceUp?(key: { type: string; address: string }): void
  /** Sending stopped for a relayer, with the reason; null: it resumed. */
  relayerChanged?(relayer: { relayer_id: string; disabled_reason: string | null }): void
  /** A relayer that needs funds gets none, or gets some again. */
  fundingChanged?(funding: { relayer_id: string; state: FundingStatus; reason: string | null }): void
  /** Wraps a delivery attempt. */
  attempt?<T extends { status: number | null; error: string | null }>(
    work: { host: string; event_id: string; number: number },
    run: () => Promise<T>,
  ): Promise<T>
}

export interface EndpointFault {
  host: string
  chain_id: number
  audience: string
  reason: string
}

export type SignatureKind = 'message' | 'typed_data' | 'authorization' | 'transaction' | 'sent_transaction'

/** `pending`: another attempt follows. */
type DeliveryOutcome = 'delivered' | 'pending' | 'failed'

type Around<Work> = <T>(work: Work, run: () => Promise<T>) => Promise<T>
