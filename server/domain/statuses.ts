import type { TransactionStatus } from '../../generated/openapi.ts'

/** The states of a transaction that is in no block yet. */
export const unmined_statuses = ['pending', 'sent', 'submitted'] as const
/** The states of a transaction that may still change. */
export const unfinished_statuses = [...unmined_statuses, 'mined'] as const
/** The final states. */
export const final_statuses = ['confirmed', 'failed', 'canceled', 'expired'] as const
export type FinalStatus = (typeof final_statuses)[number]
export type UnfinishedStatus = (typeof unfinished_statuses)[number]

const unmined: ReadonlySet<TransactionStatus> = new Set(unmined_statuses)
const final: ReadonlySet<TransactionStatus> = new Set(final_statuses)

export const isUnmined = (status: TransactionStatus): boolean => unmined.has(status)
export const isFinal = (status: TransactionStatus): status is FinalStatus => final.has(status)
