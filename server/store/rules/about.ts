import type { DatabaseFacts, ServerRow, Store } from '../store.ts'
import type { Database } from './database.ts'
import { sql } from './statement.ts'

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

/** The database and the servers that use it. */
export const about = ({ read }: Database): Pick<Store, 'databaseFacts' | 'servers'> => ({
  databaseFacts: async () => (await read.one(facts)) as DatabaseFacts,
  servers: () => read.all(servers),
})
