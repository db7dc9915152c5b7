import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import type { WorkKind } from '../../server/store/worker.ts'
import { newDatabase } from './postgres.ts'
import { type ServiceProcess, spawnService } from './process.ts'
import { temporaryFolder } from './service.ts'

const patienceMs = 60_000
const againMs = 100

/** One of several servers on one PostgreSQL database, each a separate process. */
export interface Server extends ServiceProcess {
  url: string
  client: RelayerClient
}

export interface Servers {
  start(): Promise<Server>
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
  /** The rows for which a server has the lease, by the database. */
  leasesOf(server: Server, kind: WorkKind): Promise<number[]>
  /** The number of a server's registration. */
  registrationOf(server: Server): Promise<number>
}

/** Repeats requests that get 503: on a busy machine, the database may seem to be down. */
async function patient(request: Request): Promise<Response> {
  for (const end = performance.now() + patienceMs; ; await pause(againMs)) {
    const response = await fetch(request.clone())
    if (response.status !== 503 || performance.now() > end) return response
  }
}

/** A database of the test's own, for any number of servers; all end with the test. */
export async function testServers(settings: Record<string, string> = {}): Promise<Servers> {
  const { url: DatabaseUrl, drop } = await newDatabase()
  onTestFinished(drop)
  const pool = new pg.Pool({ connectionString: DatabaseUrl, max: 2 })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  const folder = temporaryFolder()
  const token = 'several-servers-have-one-api-key'
  let count = 0

  async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await pool.query<Row>(text, values)).rows
  }
  /** Of the row of `servers`, which names the host and the process. */
  const isOf = `name LIKE '% ' || $1::text`

  return {
    query,
    async start() {
      count += 1
      const service = spawnService({
        DATABASE_URL: DatabaseUrl,
        DATA_DIR: join(folder, `server-${count}`),
        API_KEY: token,
        MASTER_KEY: '5a'.repeat(32),
        // A slow response on a busy machine does not mean that the database is down.
        DATABASE_TIMEOUT_MS: '10000',
        ...settings,
      })
      const [, url = ''] = await service.wrote(/API\s+(http:\/\/[^\s/]+)\/api\/v1\n/)
      return { ...service, url, client: createRelayerClient({ baseUrl: url, token, fetch: patient }) }
    },
    async leasesOf({ pid }, kind) {
      const rows = await query<{ row_id: string }>(
        `SELECT work_leases.row_id FROM work_leases JOIN servers ON servers.row_id = server_row_id
         WHERE ${isOf} AND kind = $2 ORDER BY 1`,
        [pid, kind],
      )
      return rows.map(({ row_id }) => Number(row_id))
    },
    async registrationOf({ pid }) {
      const [row] = await query<{ row_id: string }>(`SELECT row_id FROM servers WHERE ${isOf}`, [pid])
      return Number(row?.row_id)
    },
  }
}
