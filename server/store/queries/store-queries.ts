import * as abis from './abis.ts'
import * as accounts from './accounts.ts'
import * as activity from './activity.ts'
import * as apiKeys from './api-keys.ts'
import * as attempts from './attempts.ts'
import * as audit from './audit.ts'
import * as dailyLimits from './daily-limits.ts'
import type { Database } from './database.ts'
import * as deliveries from './deliveries.ts'
import * as events from './events.ts'
import * as externalTransactions from './external-transactions.ts'
import * as facilitators from './facilitators.ts'
import * as funding from './funding.ts'
import * as idempotency from './idempotency.ts'
import * as insertTransactions from './insert-transactions.ts'
import * as networks from './networks.ts'
import * as nonceCompaction from './nonce-compaction.ts'
import * as notifications from './notifications.ts'
import * as payments from './payments.ts'
import * as pools from './pools.ts'
import * as refusals from './refusals.ts'
import * as relayers from './relayers.ts'
import * as retention from './retention.ts'
import * as search from './search.ts'
import * as secrets from './secrets.ts'
import * as service from './service.ts'
import * as signers from './signers.ts'
import * as sponsorships from './sponsorships.ts'
import * as transactionLists from './transaction-lists.ts'
import * as transactionReads from './transaction-reads.ts'
import * as transactions from './transactions.ts'
import * as treasuries from './treasuries.ts'
import * as updateTransactions from './update-transactions.ts'

const queries = {
  ...abis,
  ...accounts,
  ...activity,
  ...apiKeys,
  ...attempts,
  ...audit,
  ...dailyLimits,
  ...deliveries,
  ...events,
  ...facilitators,
  ...funding,
  ...idempotency,
  ...insertTransactions,
  ...networks,
  ...nonceCompaction,
  ...notifications,
  ...payments,
  ...pools,
  ...refusals,
  ...relayers,
  ...retention,
  ...search,
  ...secrets,
  ...service,
  ...signers,
  ...sponsorships,
  ...transactionLists,
  ...transactionReads,
  ...transactions,
  ...treasuries,
  ...externalTransactions,
  ...updateTransactions,
}
type Queries = typeof queries
type Method<Query> = Query extends (database: Database, ...rest: infer Rest) => infer Result
  ? (...rest: Rest) => Result
  : never

/** The methods of the store that are the same on every database: the functions of this folder whose first parameter is the database. */
export type StoreQueries = {
  [Name in keyof Queries as Queries[Name] extends (database: Database, ...rest: never[]) => unknown
    ? Name
    : never]: Method<Queries[Name]>
}

export const bindQueries = (database: Database): StoreQueries =>
  Object.fromEntries(
    Object.entries(queries).flatMap(([name, query]) =>
      typeof query === 'function' ? [[name, (query as (database: Database) => unknown).bind(undefined, database)]] : [],
    ),
  ) as unknown as StoreQueries
