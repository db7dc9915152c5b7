import { words } from '../data/format.ts'

type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'idle'

const tones: Record<string, Tone> = {
  ...{
    confirmed: 'good',
    mined: 'good',
    healthy: 'good',
    delivered: 'good',
    enabled: 'good',
    in_step: 'good',
    active: 'good',
    running: 'good',
    working: 'good',
    over: 'good',
    sufficient: 'good',
    succeeded: 'good',
  },
  ...{ failed: 'bad', unreachable: 'bad', wrong_chain: 'bad', disabled: 'bad', chain_restarted: 'bad', revoked: 'bad' },
  ...{ pending: 'busy', sent: 'busy', submitted: 'busy', in_flight: 'busy', blocked: 'warn', canceling: 'warn' },
  ...{ error: 'bad', warning: 'warn', leaving: 'warn' },
  ...{ limit_reached: 'bad', treasury_short: 'bad', refused: 'bad', fee_too_high: 'warn' },
  ...{ paused: 'warn', rate_limited: 'warn', expired: 'warn', gap: 'warn', chain_ahead: 'warn', failing: 'warn' },
}

/** A state as a word; its color means the same. `waited`: it lasts too long. */
export const Badge = ({ state, waited }: { state: string; waited?: string | undefined }) => (
  <span className={`badge ${waited === undefined ? (tones[state] ?? 'idle') : 'warn'}`}>
    {words(state)}
    {waited !== undefined && <span className="waited">, {waited}</span>}
  </span>
)
