import type { TransactionStatus } from '../../generated/openapi.ts'

/** The states of a transaction that is in no block yet. */
export const unminedStatuses = ['pending', 'sent', 'submitted'] as const
/** The states of a transaction that may still change. */
export const unfinishedStatuses = [...unminedStatuses, 'mined'] as const
/** The final states. */
export const finalStatuses = ['confirmed', 'failed', 'canceled', 'expired'] as const
export type FinalStatus = (typeof finalStatuses)[number]
export type UnfinishedStatus = (typeof unfinishedStatuses)[number]

const unmined: ReadonlySet<TransactionStatus> = new Set(unminedStatuses)
const final: ReadonlySet<TransactionStatus> = new Set(finalStatuses)

export const isUnmined = (status: TransactionStatus): boolean => unmined.has(status)
export const isFinal = (status: TransactionStatus): status is FinalStatus => final.has(status)

/** The state as text that completes "the transaction is ...". */
export const stateText = ({ status, intent }: { status: TransactionStatus; intent: string }): string =>
  intent !== 'send' && isUnmined(status) ? 'being canceled' : status
