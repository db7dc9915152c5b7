import type { Transaction, TransactionStatus } from '../../index.ts'

/** The status of a transaction that its badge shows. */
export const stateOf = ({ status, is_canceling }: Pick<Transaction, 'status'> & { is_canceling?: boolean }): string =>
  is_canceling ? 'canceling' : status

export const isFinal = (status: TransactionStatus): boolean =>
  ['confirmed', 'failed', 'canceled', 'expired'].includes(status)

/** Without a block for longer than this, a transaction shows its wait. */
export const slowMs = 120_000
const unmined: ReadonlySet<string> = new Set(['pending', 'sent', 'submitted'])

/** Whether a transaction shows its wait. */
export const isSlow = ({ status, created_at }: { status: string; created_at: string }): boolean =>
  unmined.has(status) && Date.now() - Date.parse(created_at) >= slowMs

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'idle'

/** What every part colors, by its status or severity. Another one is `idle`. */
const toned: Partial<Record<Tone, string[]>> = {
  good: [
    ...[
      'confirmed',
      'mined',
      'succeeded',
      'delivered',
      'healthy',
      'enabled',
      'active',
      'running',
      'working',
      'settled',
    ],
    ...['in_step', 'sufficient', 'over', 'ready'],
  ],
  bad: [
    ...['failed', 'refused', 'disabled', 'revoked', 'unreachable', 'wrong_chain', 'chain_restarted', 'limit_reached'],
    ...['treasury_short', 'error', 'critical', 'down', 'not ready', 'no new blocks', 'no funds', 'low funds'],
  ],
  warn: [
    ...['canceling', 'expired', 'paused', 'failing', 'rate_limited', 'leaving', 'blocked', 'gap', 'chain_ahead'],
    ...['fee_too_high', 'warning', 'not refilled', 'refusing', 'slow', 'waits for network'],
  ],
  busy: ['pending', 'sent', 'submitted', 'unfinished'],
}
const tones = new Map(Object.entries(toned).flatMap(([tone, all]) => all.map((one) => [one, tone as Tone])))

export const toneOf = (status: string): Tone => tones.get(status) ?? 'idle'
