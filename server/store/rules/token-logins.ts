import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import type { Database } from './database.ts'
import { sql } from './statement.ts'

/** A login that is not ended after this time was cut off: its outcome is unknown. */
const login_ms = 10_000

interface Row {
  accepted: Uint8Array | null
  tried: Uint8Array | null
  state: 'trying' | 'refused' | null
  since: number
}

const select = sql<Row>('SELECT accepted, tried, state, since FROM token_logins WHERE token = $token')
const write = sql(`
  INSERT INTO token_logins (token, accepted, tried, state, since) VALUES ($token, $accepted, $tried, $state, $since)
  ON CONFLICT (token) DO UPDATE SET accepted = excluded.accepted, tried = excluded.tried, state = excluded.state,
    since = excluded.since`)

const isSame = (a: Uint8Array | null | undefined, b: Uint8Array): boolean => a != null && Buffer.compare(a, b) === 0

/** The logins to PKCS #11 tokens: keys/token-logins.ts. */
export function tokenLogins(
  { writeAlone }: Database,
  { now }: StoreDependencies,
): Pick<Store, 'beginLogin' | 'endLogin'> {
  return {
    beginLogin: (token, pin, trust) =>
      writeAlone(async (transaction) => {
        const row = await transaction.one(select, { token })
        if (isSame(row?.accepted, pin)) return 'try'
        if (row?.state === 'trying' && now() - row.since < login_ms) return 'busy'
        const isAgain = row?.state === 'refused' && isSame(row.tried, pin)
        const mayTry =
          row == null || row.state === null || trust === 'administrator' || (trust === 'operator' && !isAgain)
        if (!mayTry) return 'refused'
        const accepted = row?.accepted ?? null
        await transaction.run(write, { token, accepted, tried: pin, state: 'trying', since: now() })
        return 'try'
      }),
    endLogin: (token, pin, outcome) =>
      writeAlone(async (transaction) => {
        const row = await transaction.one(select, { token })
        const isAccepted = isSame(row?.accepted, pin)
        if (outcome === 'accepted') {
          if (isAccepted && row?.state === null) return
          return void (await transaction.run(write, { token, accepted: pin, tried: null, state: null, since: now() }))
        }
        const accepted = isAccepted ? null : (row?.accepted ?? null)
        if (outcome === 'refused')
          return void (await transaction.run(write, { token, accepted, tried: pin, state: 'refused', since: now() }))
        // The token did not see the PIN.
        if (row?.state !== 'trying' || !isSame(row.tried, pin)) return
        await transaction.run(write, { token, accepted: row.accepted, tried: null, state: null, since: now() })
      }),
  }
}
