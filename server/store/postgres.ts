import { StoreUnavailable } from '../core/errors.ts'
import type { MasterKeyCheck, RightsFault, RightsProof } from '../core/rows.ts'
import { activity } from './postgres/activity.ts'
import { apiKeys } from './postgres/api-keys.ts'
import { auditList } from './postgres/audit-list.ts'
import { bulkChanges } from './postgres/bulk-changes.ts'
import { type ConnectionSettings, connect, sql } from './postgres/connection.ts'
import { creations } from './postgres/creations.ts'
import { deliveries } from './postgres/deliveries.ts'
import { eventLog } from './postgres/event-log.ts'
import { isUnavailable } from './postgres/failures.ts'
import { gauges } from './postgres/gauges.ts'
import { readMasterKeyCheck } from './postgres/master-key-check.ts'
import { networks } from './postgres/networks.ts'
import { nonces } from './postgres/nonces.ts'
import { notifications } from './postgres/notifications.ts'
import { oneAtATime } from './postgres/one-at-a-time.ts'
import { outbox } from './postgres/outbox.ts'
import { protectRights } from './postgres/protection.ts'
import { relayers } from './postgres/relayers.ts'
import { relayersAtWork } from './postgres/relayers-at-work.ts'
import { restarts } from './postgres/restarts.ts'
import { retention } from './postgres/retention.ts'
import { signers } from './postgres/signers.ts'
import { spendings } from './postgres/spending.ts'
import { transactionLists } from './postgres/transaction-lists.ts'
import { transactionReads } from './postgres/transaction-reads.ts'
import { transactions } from './postgres/transactions.ts'
import { watches } from './postgres/watches.ts'
import { workShares } from './postgres/work-share.ts'
import type { StoreWorld } from './store-dependencies.ts'

export type PostgresStore = Awaited<ReturnType<typeof openPostgresStore>>

/** The store in a PostgreSQL database, which any number of servers share. */
export async function openPostgresStore(settings: ConnectionSettings, world: StoreWorld) {
  const connection = await connect(settings, world).catch((error: unknown) => {
    throw isUnavailable(error) ? new StoreUnavailable() : error
  })
  const dependencies = { now: connection.now, ...world }
  const { read, withAudit, appendAudit, auditHead, close } = connection
  for (const setting of connection.warnings) dependencies.weakDatabase?.(setting)

  return {
    now: dependencies.now,
    generation: oneAtATime(connection.generation),
    version: connection.signals.losses,
    tell: connection.signals.tell,
    subscribe: connection.signals.subscribe,
    takeTokens: connection.takeTokens,
    ping: async (): Promise<void> => void (await read.one(ping)),
    close,
    masterKeyCheck: () => readMasterKeyCheck(read),
    protect: (prove: (held: MasterKeyCheck | undefined) => RightsProof, report: (fault: RightsFault) => void) =>
      protectRights(connection, prove, report),
    withAudit,
    appendAudit,
    auditHead,
    ...auditList(connection),
    ...networks(connection),
    ...signers(connection),
    ...relayers(connection, dependencies),
    ...notifications(connection, dependencies),
    ...apiKeys(connection),
    ...eventLog(connection),
    ...outbox(connection, dependencies),
    ...deliveries(connection, dependencies),
    ...bulkChanges(connection, dependencies.now),
    ...workShares(connection),
    ...gauges(connection),
    ...retention(connection),
    ...creations(connection, dependencies),
    ...spendings(connection, dependencies),
    ...transactions(connection, dependencies),
    ...transactionReads(connection),
    ...relayersAtWork(connection),
    ...transactionLists(connection),
    ...restarts(connection, dependencies),
    ...nonces(connection, dependencies.now),
    ...watches(connection),
    ...activity(connection),
  }
}

const ping = sql('SELECT 1 FROM generation')
