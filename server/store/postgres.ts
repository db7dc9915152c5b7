import { StoreUnavailable } from '../domain/errors.ts'
import { auditList } from './postgres/audit-list.ts'
import { oneAtATime } from './postgres/coalesce.ts'
import { type ConnectionSettings, connect } from './postgres/connection.ts'
import { isUnavailable } from './postgres/failures.ts'
import { workShares } from './postgres/work-share.ts'
import type { StoreWorld } from './queries/database.ts'
import { bindQueries } from './queries/store-queries.ts'
import type { Store } from './store.ts'

/** The store in a PostgreSQL database, which any number of servers share. */
export async function openPostgresStore(settings: ConnectionSettings, world: StoreWorld): Promise<Store> {
  const connection = await connect(settings, world).catch((error: unknown) => {
    throw isUnavailable(error) ? new StoreUnavailable() : error
  })
  const { appendAudit, auditHead, close } = connection
  for (const setting of connection.warnings) world.weakDatabase?.(setting)
  return {
    generation: oneAtATime(connection.generation),
    version: connection.signals.losses,
    tell: connection.signals.tell,
    subscribe: connection.signals.subscribe,
    takeTokens: connection.takeTokens,
    close,
    appendAudit,
    auditHead,
    ...auditList(connection),
    ...bindQueries(connection),
    ...workShares(connection),
  }
}
