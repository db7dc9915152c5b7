import type { Incident } from '../../domain/rows.ts'
import type { DatabaseFacts, ServerRow, Store } from '../store.ts'
import type { Database } from './database.ts'
import { sql } from './session.ts'

const facts = sql<DatabaseFacts>({
  sqlite: `
  SELECT 'sqlite' AS engine, sqlite_version() AS version, page_count * page_size AS bytes
  FROM pragma_page_count(), pragma_page_size()`,
  postgres: `
  SELECT 'postgres' AS engine, current_setting('server_version') AS version, pg_database_size(current_database()) AS bytes`,
})
// Processes that share a SQLite file are not registered.
const servers = sql<ServerRow>({
  sqlite: "SELECT '' AS name, 'running' AS state, 0 AS started_at, 0 AS relayers WHERE false",
  postgres: `
  SELECT name, state, floor(extract(epoch FROM started_at) * 1000)::bigint AS started_at,
    (SELECT count(*) FROM work_leases WHERE server_row_id = servers.row_id AND kind = 'sender') AS relayers
  FROM servers WHERE state <> 'ended' ORDER BY row_id LIMIT 1000`,
})

/** The row ids say how old they are: no row between them is removed. */
const maxKept = 1_000

const insert = sql(`
  INSERT INTO incidents (at, server, severity, subject, text) VALUES ($at, $server, $severity, $subject, $text)`)
const removeOld = sql(`DELETE FROM incidents WHERE row_id <= (SELECT max(row_id) FROM incidents) - ${maxKept}`)
const newest = sql<Incident>(`
  SELECT at, server, severity, subject, text FROM incidents ORDER BY row_id DESC LIMIT $limit`)

/** The database, the servers that use it, and what they noticed, also before their last start. */
export const service = ({
  read,
  write,
}: Database): Pick<Store, 'databaseFacts' | 'servers' | 'addIncidents' | 'incidents'> => ({
  databaseFacts: async () => (await read.one(facts)) as DatabaseFacts,
  servers: () => read.all(servers),
  addIncidents: (added) =>
    write(async (transaction) => {
      for (const { at, server, severity, subject, text } of added)
        await transaction.run(insert, { at, server, severity, subject, text })
      await transaction.run(removeOld)
    }),
  incidents: (limit) => read.all(newest, { limit }),
})
