export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'idle'

/** What every part colors, by its status or severity. Another one is `idle`. */
const statuses: Partial<Record<Tone, string[]>> = {
  good: [
    ...['confirmed', 'mined', 'succeeded', 'delivered', 'healthy', 'enabled', 'active', 'running', 'working'],
    ...['in_step', 'sufficient', 'over'],
  ],
  bad: [
    ...['failed', 'refused', 'disabled', 'revoked', 'unreachable', 'wrong_chain', 'chain_restarted', 'limit_reached'],
    ...['treasury_short', 'error', 'critical'],
  ],
  warn: [
    ...['canceling', 'expired', 'paused', 'failing', 'rate_limited', 'leaving', 'blocked', 'gap', 'chain_ahead'],
    ...['fee_too_high', 'warning'],
  ],
  busy: ['pending', 'sent', 'submitted', 'in_flight'],
}
const tones = new Map(Object.entries(statuses).flatMap(([tone, all]) => all.map((one) => [one, tone as Tone])))

export const toneOf = (status: string): Tone => tones.get(status) ?? 'idle'
