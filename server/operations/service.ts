import { hostname } from 'node:os'
import { type Handlers, single } from '../core/operation.ts'
import type { OperationDependencies } from './dependencies.ts'

type Dependencies = Pick<OperationDependencies, 'store' | 'now' | 'unready' | 'incidents' | 'version'>

/** The state of this server, of its database and of the servers beside it. */
export function service({ store, now, unready, incidents, version }: Dependencies): Pick<Handlers, 'getService'> {
  const name = `${hostname()} ${process.pid}`
  const iso = (ms: number) => new Date(ms).toISOString()
  return {
    async getService() {
      const [database, servers, reasons] = await Promise.all([store.databaseFacts(), store.servers(), unready()])
      return single({
        name,
        version,
        node_version: process.versions.node,
        started_at: iso(Math.round(now() - process.uptime() * 1_000)),
        memory_bytes: process.memoryUsage.rss(),
        not_ready: reasons,
        database,
        servers: servers.map((its) => ({ ...its, started_at: iso(its.started_at), is_this: its.name === name })),
        incidents: incidents().map(({ at, ...its }) => ({ at: iso(at), ...its })),
      })
    },
  }
}
