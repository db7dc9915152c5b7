import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { abis } from './abis.ts'
import { activity } from './activity.ts'
import { apiKeys } from './api-keys.ts'
import { auditRetention } from './audit-retention.ts'
import { bulkChanges } from './bulk-changes.ts'
import { spendings } from './daily-limits.ts'
import type { Database } from './database.ts'
import { deliveries, outbox } from './deliveries.ts'
import { eventLog } from './events.ts'
import { funding } from './funding.ts'
import { creations } from './insert-transactions.ts'
import { networks } from './networks.ts'
import { nonces } from './nonces.ts'
import { notifications } from './notifications.ts'
import { poolOrders, pools } from './pools.ts'
import { relayers } from './relayers.ts'
import { retention } from './retention.ts'
import { searchAll } from './search.ts'
import { protectRights, readMasterKeyCheck } from './secrets.ts'
import { gauges, problems, service } from './service.ts'
import { sql } from './session.ts'
import { signers, tokenLogins } from './signers.ts'
import { sponsorships } from './sponsorships.ts'
import { transactionLists } from './transaction-lists.ts'
import { relayersAtWork, transactionReads, watches } from './transaction-reads.ts'
import { restarts, transactions } from './transactions.ts'
import { unknownTransactions } from './unknown-transactions.ts'

/** What each database does in its own way. */
type OfDatabase =
  | ('generation' | 'version' | 'tell' | 'subscribe' | 'takeTokens' | 'close' | 'share')
  | ('appendAudit' | 'auditHead' | 'auditHeads' | 'listAudit')

const ping = sql('SELECT 1 FROM generation')

/** The methods of the store that are the same on every database. */
export const storeQueries = (database: Database, dependencies: StoreDependencies): Omit<Store, OfDatabase> => ({
  now: dependencies.now,
  ping: async () => void (await database.read.one(ping)),
  masterKeyCheck: () => readMasterKeyCheck(database.read),
  protect: (prove, report) => protectRights(database, prove, report),
  ...networks(database),
  ...abis(database),
  ...pools(database),
  ...poolOrders(database),
  ...signers(database),
  ...tokenLogins(database, dependencies),
  ...relayers(database, dependencies),
  ...funding(database, dependencies),
  ...notifications(database, dependencies),
  ...apiKeys(database),
  ...sponsorships(database, dependencies),
  ...eventLog(database),
  ...outbox(database, dependencies),
  ...deliveries(database, dependencies),
  ...bulkChanges(database, dependencies.now),
  ...gauges(database),
  ...retention(database),
  ...auditRetention(database, dependencies),
  ...creations(database, dependencies),
  ...spendings(database, dependencies),
  ...transactions(database, dependencies),
  ...transactionReads(database),
  ...relayersAtWork(database),
  ...transactionLists(database),
  ...restarts(database, dependencies),
  ...nonces(database, dependencies.now),
  ...unknownTransactions(database, dependencies.now),
  ...watches(database),
  ...activity(database),
  ...service(database),
  ...problems(database),
  ...searchAll(database),
})
