import { hostname } from 'node:os'
import { type Session, sql } from '../queries/database.ts'
import { type Beat, clockColumns, type DedicatedClient } from './dedicated-client.ts'
import { leaseMs, marginMs } from './pool.ts'

/**
 * This server among all that use the database. Its registration is a row that it renews; the leases of a server are valid as long as its
 * registration is.
 */
export interface Membership {
  /** The number of the registration, which no other start of a server has. */
  row_id: number
  /** Whether the registration is valid, by this process's monotonic clock. */
  isValid(): boolean
  /** `ended`: called when this server counted as dead and has lost all its leases. `freed`: when those of another were given up. */
  watch(listener: Listener): void
  /** This server works: from now on it counts among those that share the work. */
  enter(): Promise<void>
  /** This server takes no more work. */
  leave(): Promise<void>
  /** Ends the registration. */
  close(): Promise<void>
}

const validity = `clock_timestamp() + ${leaseMs} * INTERVAL '1 ms'`
// A time far ahead was written before the clock of the database was set back.
const isOver = `(until <= clock_timestamp() OR until > clock_timestamp() + ${10 * leaseMs} * INTERVAL '1 ms')`

const join = sql<{ row_id: number }>(`INSERT INTO servers (name, until) VALUES ($name, ${validity}) RETURNING row_id`)
// The search finds those whose time has passed, and ended ones that still have leases.
const renew = sql<Renewal>(`
  WITH renewed AS (
    UPDATE servers SET until = ${validity}, state = $state WHERE row_id = $row_id AND state <> 'ended' RETURNING row_id)
  SELECT ${clockColumns}, (SELECT row_id FROM renewed) AS renewed, (
    SELECT json_agg(row_id) FROM servers WHERE row_id <> $row_id AND (
      state <> 'ended' AND ${isOver}
      OR state = 'ended' AND EXISTS (SELECT 1 FROM work_leases WHERE server_row_id = servers.row_id))) AS others_over`)
// Another server may have removed the row.
const rejoin = sql(`
  WITH dropped AS (DELETE FROM work_leases WHERE server_row_id = $row_id)
  INSERT INTO servers (row_id, name, state, until) VALUES ($row_id, $name, $state, ${validity})
  ON CONFLICT (row_id) DO UPDATE SET until = excluded.until, state = excluded.state`)
// One that still has a chain of the audit trail is kept: the next server that starts continues the chain.
const prune = sql(`
  DELETE FROM servers WHERE state = 'ended' AND until < clock_timestamp() - INTERVAL '1 day'
    AND NOT EXISTS (SELECT 1 FROM work_leases WHERE server_row_id = servers.row_id)
    AND NOT EXISTS (SELECT 1 FROM audit_chains WHERE server_row_id = servers.row_id)`)
const setState = sql('UPDATE servers SET state = $state WHERE row_id = $row_id')
const end = sql(`
  UPDATE servers SET state = 'ended' WHERE row_id = ANY ($row_ids::bigint[]) AND state <> 'ended' AND ${isOver}`)
// Leases under which a database transaction runs are skipped: they are deleted after it.
const dropLeases = sql<{ dropped: number }>(`
  WITH dropped AS (
    DELETE FROM work_leases WHERE (kind, row_id) IN (
      SELECT kind, row_id FROM work_leases
      WHERE server_row_id IN (SELECT row_id FROM servers WHERE row_id = ANY ($row_ids::bigint[]) AND state = 'ended')
      ORDER BY kind, row_id FOR UPDATE SKIP LOCKED)
    RETURNING 1)
  SELECT count(*) AS dropped FROM dropped`)

/** `idle`: it has no part of the work, because it still starts, or is a command. */
type State = 'idle' | 'running' | 'leaving' | 'ended'

interface Renewal extends Beat {
  /** Null: another server has ended this registration. */
  renewed: number | null
  others_over: number[] | null
}

interface Listener {
  ended(): void
  freed(): void
}

/**
 * Registers this server. Its registration is durable, so that no other one gets its number; what `dedicated` writes need not be. Each
 * heartbeat of `dedicated` renews it.
 */
export async function joinServers(
  read: Session,
  dedicated: Pick<DedicatedClient, 'one' | 'beatWith'>,
): Promise<Membership> {
  const listeners: Listener[] = []
  const joinedAt = performance.now()
  const name = `${hostname()} ${process.pid}`
  await read.run(prune)
  const { row_id } = (await read.one(join, { name })) as { row_id: number }
  let validUntil = joinedAt + leaseMs - marginMs
  let answeredAt = joinedAt
  let state: State = 'idle'
  let isClosing = false
  /** Another server has ended this registration, and what this one held is not given up yet. */
  let isOut = false
  let consequence: Promise<void> | undefined

  function answered({ renewed, others_over }: Renewal, askedAt: number): void {
    // After a pause of this server, or of the database, the others may not have had the time to renew theirs.
    const isSteady = performance.now() - answeredAt < leaseMs / 2
    answeredAt = performance.now()
    isOut ||= renewed === null
    // The registration lasts from before the question.
    validUntil = isOut || isClosing ? 0 : askedAt + leaseMs - marginMs
    if (isClosing || consequence) return
    if (isOut) follow(joinAgain())
    else if (isSteady && others_over) follow(endOthers(others_over))
  }

  /** While the database is down, the registration ends by the clock. A later beat repeats what failed. */
  function follow(work: Promise<void>): void {
    consequence = work
      .catch(() => undefined)
      .finally(() => {
        consequence = undefined
      })
  }

  async function joinAgain(): Promise<void> {
    await dedicated.one(rejoin, { row_id, name, state })
    for (const { ended } of listeners) ended()
    isOut = false
  }

  async function endOthers(rowIds: number[]): Promise<void> {
    await dedicated.one(end, { row_ids: rowIds })
    const dropped = (await dedicated.one(dropLeases, { row_ids: rowIds }))?.dropped
    if (dropped) for (const { freed } of listeners) freed()
  }

  dedicated.beatWith({ statement: renew, values: () => ({ row_id, state }), answered })

  /** The next renewal repeats it. */
  async function become(its: State): Promise<void> {
    state = its
    await dedicated.one(setState, { row_id, state }).catch(() => undefined)
  }

  return {
    row_id,
    isValid: () => performance.now() < validUntil,
    watch: (listener) => void listeners.push(listener),
    enter: () => (state === 'idle' ? become('running') : Promise.resolve()),
    leave: () => (state === 'running' ? become('leaving') : Promise.resolve()),
    async close() {
      isClosing = true
      await consequence
      validUntil = 0
      await become('ended')
    },
  }
}
