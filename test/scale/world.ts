import pg from 'pg'
import { type Client, connectClient } from '../../server/store/postgres/pool.ts'
import { migrate } from '../../server/store/postgres/prepare-database.ts'
import { installClock } from '../model/clock.ts'

/** The database, the time and the network of all servers of a run. */
export interface World {
  url: string
  /** Statements of the run's own, whatever happens to the servers. */
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  /** Counts what takes no virtual time. */
  busy<T>(work: Promise<T>): Promise<T>
  elapsed(): number
  advance(ms: number): Promise<void>
  end(): Promise<void>
}

const stepMs = 100
const beganAt = Date.UTC(2026, 0, 1)

// What a server has to do: a relayer's transactions are numbered, and done in the order of their numbers.
const schema = `
  CREATE SCHEMA model;
  CREATE TABLE model.time (now timestamptz NOT NULL);
  INSERT INTO model.time VALUES (to_timestamp(${beganAt / 1_000}));
  CREATE FUNCTION model.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT now FROM model.time';
  CREATE TABLE model.work (row_id bigint PRIMARY KEY, accepted bigint NOT NULL DEFAULT 0, done bigint NOT NULL DEFAULT 0);`

/**
 * The schema of the service in the database at `url`, which must be empty, with a clock of its own: statements that call clock_timestamp()
 * get the virtual time. From now on, the timers and the monotonic clock of this process are virtual too.
 */
export async function createWorld(url: string, relayers: number): Promise<World> {
  const admin: Client = await connectClient({ url })
  await migrate(admin)
  await admin.query(schema)
  await admin.query('INSERT INTO model.work (row_id) SELECT generate_series(1, $1::bigint)', [relayers])
  const [{ name } = { name: '' }] = (await admin.query<{ name: string }>('SELECT current_database() AS name')).rows
  await admin.query(`ALTER DATABASE ${pg.escapeIdentifier(name)} SET search_path = model, public, pg_catalog`)

  let underWay = 0
  const clock = installClock(beganAt, () => underWay > 0)
  const monotonic = performance.now
  performance.now = clock.elapsed

  return {
    url,
    query: async <Row extends object>(text: string, values: unknown[] = []) =>
      (await admin.query<Row>(text, values as never[])).rows,
    async busy(work) {
      underWay += 1
      try {
        return await work
      } finally {
        underWay -= 1
        clock.active()
      }
    },
    elapsed: clock.elapsed,
    async advance(ms) {
      for (let at = 0; at < ms; at += stepMs) {
        await admin.query('UPDATE model.time SET now = to_timestamp($1::float8)', [(clock.now() + stepMs) / 1_000])
        await clock.advance(stepMs, 1)
      }
    },
    async end() {
      performance.now = monotonic
      clock.restore()
      await admin.end()
    },
  }
}
