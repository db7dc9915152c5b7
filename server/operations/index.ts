import type { Handlers } from '../core/operation.ts'
import { type AccountDependencies, accounts } from './accounts.ts'
import { type ActivityDependencies, activity } from './activity.ts'
import { type ApiKeyDependencies, apiKeys } from './api-keys.ts'
import { type AuditDependencies, audit } from './audit.ts'
import { type CallerDependencies, caller } from './caller.ts'
import { type DeliveryDependencies, deliveries } from './deliveries.ts'
import { type HealthDependencies, health } from './health.ts'
import { type NetworkDependencies, networks } from './networks.ts'
import { type NotificationDependencies, notifications } from './notifications.ts'
import { type RelayerDependencies, relayers } from './relayers.ts'
import { type SignerDependencies, signers } from './signers.ts'
import { type SigningDependencies, signing } from './signing.ts'
import { type TransactionListDependencies, transactionLists } from './transaction-lists.ts'
import { type TransactionDependencies, transactions } from './transactions.ts'

export type OperationDependencies = AccountDependencies &
  ActivityDependencies &
  ApiKeyDependencies &
  AuditDependencies &
  CallerDependencies &
  DeliveryDependencies &
  HealthDependencies &
  NetworkDependencies &
  NotificationDependencies &
  RelayerDependencies &
  SignerDependencies &
  SigningDependencies &
  TransactionListDependencies &
  TransactionDependencies

/** All operations of the contract, except JSON-RPC, which uses them. A missing one does not compile. */
export const createOperations = (dependencies: OperationDependencies): Omit<Handlers, 'callJsonRpc'> => ({
  ...signing(dependencies),
  ...transactions(dependencies),
  ...transactionLists(dependencies),
  ...notifications(dependencies),
  ...deliveries(dependencies),
  ...relayers(dependencies),
  ...accounts(dependencies),
  ...activity(dependencies),
  ...signers(dependencies),
  ...networks(dependencies),
  ...apiKeys(dependencies),
  ...caller(dependencies),
  ...audit(dependencies),
  ...health(dependencies),
})
