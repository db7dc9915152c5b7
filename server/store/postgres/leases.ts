import type { Store } from '../store.ts'
import { type Connection, sql } from './connection.ts'

// The clock of the database, which all servers share. A lease that ends far ahead was written before that clock was set back.
const mayTake = `(until <= clock_timestamp() OR until > clock_timestamp() + 10 * $duration_ms::float8 * INTERVAL '1 ms')`
const select = sql<{ owner: string; is_over: boolean }>(
  `SELECT owner, ${mayTake} AS is_over FROM leases WHERE name = $name`,
)
// The token grows with each owner.
const take = sql<{ token: number }>(`
  INSERT INTO leases AS known (name, owner, token, until)
  VALUES ($name, $owner, 1, clock_timestamp() + $duration_ms::float8 * INTERVAL '1 ms')
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until,
    token = CASE WHEN known.owner = excluded.owner THEN known.token ELSE known.token + 1 END
  WHERE known.owner = excluded.owner OR known.owner = $ended_owner OR ${mayTake.replaceAll('until', 'known.until')}
  RETURNING token`)
const drop = sql('UPDATE leases SET until = to_timestamp(0) WHERE name = $name AND owner = $owner')

/** The leases of background work. */
export function leases({ read, write }: Connection): Pick<Store, 'takeLease' | 'dropLease'> {
  return {
    async takeLease(name, owner, duration_ms, isAlive) {
      // Read before the write, so that a waiting process causes no commits.
      const known = await read.one(select, { name, duration_ms })
      const isEnded = known !== undefined && known.owner !== owner && !isAlive(known.owner)
      if (known && known.owner !== owner && !known.is_over && !isEnded) return false
      const values = { name, owner, duration_ms, ended_owner: isEnded ? known.owner : null }
      return (await write((transaction) => transaction.one(take, values))) !== undefined
    },
    dropLease: async (name, owner) => void (await write((transaction) => transaction.run(drop, { name, owner }))),
  }
}
