import { createHash } from 'node:crypto'
import type { NetworkNode, Problem, ProblemKind } from '../../generated/openapi.ts'
import type { Detail } from '../core/errors.ts'
import type { RelayerRow } from '../core/rows.ts'
import type { TransactionRow } from '../core/sending-rows.ts'
import type { NodeHealth } from '../evm/node-health.ts'
import type { FundingNote } from '../store/funding-store.ts'
import type { Failures, NotificationState } from '../store/problem-store.ts'

/** A problem as it is found; `created_by`: of its notification. */
export interface FoundProblem extends Omit<Problem, 'acknowledgement'> {
  created_by?: string
}

/** The account of a relayer on its chain. */
export interface Account {
  balance: bigint
  nonces: { status: string; explanation: string }
}

/** The nodes of a network. */
export interface NetworkSeen {
  nodes: (NodeHealth & Pick<NetworkNode, 'url'>)[]
  average_blocktime_ms: number | null
}

/** What problems are found in. An Error: it could not be found out. */
export interface Facts {
  /** Milliseconds since the Unix epoch. */
  now: number
  relayers: RelayerRow[]
  queues: { relayer: RelayerRow; unfinished: number; first: TransactionRow }[]
  failures: Failures[]
  accounts: ReadonlyMap<string, Account | Error>
  /** By the name of the network. */
  nodes: ReadonlyMap<string, NetworkSeen | Error>
  notifications: NotificationState[]
  /** By the relayer's row id. */
  funding: ReadonlyMap<number, FundingNote>
  unready: Detail[]
}

const max_text = 1_000

/** The most urgent first; the order of one severity is that of this list, and within a kind the longest standing is first. */
const severities: Record<ProblemKind, Problem['severity']> = {
  service: 'critical',
  network_down: 'critical',
  network_still: 'critical',
  relayer_disabled: 'critical',
  transaction_waiting: 'critical',
  nonces: 'critical',
  balance_low: 'critical',
  funding: 'critical',
  transactions_failed: 'critical',
  deliveries_failed: 'critical',
  transaction_slow: 'warning',
  balance_empty: 'warning',
  node_unhealthy: 'warning',
  notification_disabled: 'warning',
  notification_failing: 'warning',
  relayer_paused: 'info',
}
export const kinds = Object.keys(severities)

interface Its extends Partial<Omit<FoundProblem, 'id' | 'kind' | 'severity'>> {
  summary: string
  reason: string
}

/** `cause`: what makes it another problem than the last of its kind and resource. */
export function problem(kind: ProblemKind, cause: string, its: Its): FoundProblem {
  const about = [kind, its.relayer_id, its.network_id, its.notification_id, cause]
  return {
    id: createHash('sha256').update(JSON.stringify(about)).digest('base64url').slice(0, 22),
    kind,
    severity: severities[kind],
    relayer_id: null,
    network_id: null,
    notification_id: null,
    transaction_id: null,
    count: 1,
    since: null,
    ...its,
    summary: its.summary.slice(0, max_text),
    reason: its.reason.slice(0, 2 * max_text),
  }
}
