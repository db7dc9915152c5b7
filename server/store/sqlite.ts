import { oncePerTurn } from './once-per-turn.ts'
import { activity } from './sqlite/activity.ts'
import { apiKeys } from './sqlite/api-keys.ts'
import { audit } from './sqlite/audit-list.ts'
import { bulkChanges } from './sqlite/bulk-changes.ts'
import { connect } from './sqlite/connection.ts'
import { creations } from './sqlite/creations.ts'
import { deliveries } from './sqlite/deliveries.ts'
import { eventLog } from './sqlite/events.ts'
import { gauges } from './sqlite/gauges.ts'
import { createLeases } from './sqlite/leases.ts'
import { readMasterKeyCheck } from './sqlite/master-key-check.ts'
import { networks } from './sqlite/networks.ts'
import { nonces } from './sqlite/nonces.ts'
import { notifications } from './sqlite/notifications.ts'
import { protectRights } from './sqlite/protection.ts'
import { relayers } from './sqlite/relayers.ts'
import { relayersAtWork } from './sqlite/relayers-at-work.ts'
import { restarts } from './sqlite/restarts.ts'
import { retention } from './sqlite/retention.ts'
import { signers } from './sqlite/signers.ts'
import { spendings } from './sqlite/spending.ts'
import { transactionLists } from './sqlite/transaction-lists.ts'
import { transactionReads } from './sqlite/transaction-reads.ts'
import { transactions } from './sqlite/transactions.ts'
import { watches } from './sqlite/watches.ts'
import { workShares } from './sqlite/work-share.ts'
import type { Store } from './store.ts'
import type { StoreWorld } from './store-dependencies.ts'

/** The store in one SQLite file. Statements are prepared once, when it opens. */
export function openSqliteStore(file: string, world: StoreWorld): Store {
  const dependencies = { now: Date.now, ...world }
  const connection = connect(file, dependencies)
  const { db } = connection

  const ping = db.prepare('SELECT 1 FROM generation')

  return {
    now: dependencies.now,
    generation: oncePerTurn(connection.generation),
    version: connection.version,
    // Other processes notice a commit by the version.
    tell: () => {},
    subscribe: () => {},
    takeTokens: undefined,
    ping: async () => void ping.get(),
    close: async () => connection.close(),
    masterKeyCheck: async () => readMasterKeyCheck(connection.db),
    protect: async (prove, report) => protectRights(connection, prove, report),
    withAudit: connection.withAudit,
    ...audit(connection),
    ...networks(connection),
    ...signers(connection),
    ...relayers(connection, dependencies),
    ...notifications(connection, dependencies),
    ...apiKeys(connection),
    ...creations(connection, dependencies),
    ...spendings(connection, dependencies),
    ...transactions(connection, dependencies),
    ...transactionReads(connection),
    ...relayersAtWork(connection),
    ...transactionLists(connection),
    ...workShares(createLeases(connection, dependencies)),
    ...restarts(connection, dependencies),
    ...nonces(connection, dependencies.now),
    ...watches(connection),
    ...eventLog(connection),
    ...deliveries(connection, dependencies),
    ...bulkChanges(connection, dependencies.now),
    ...gauges(connection),
    ...activity(connection),
    ...retention(connection),
  }
}
