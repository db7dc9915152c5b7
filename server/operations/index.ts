import type { Handlers } from '../operation.ts'
import { type AccountParts, accounts } from './accounts.ts'
import { type ApiKeyParts, apiKeys } from './api-keys.ts'
import { type AuditParts, audit } from './audit.ts'
import { type DeliveryParts, deliveries } from './deliveries.ts'
import { type HealthParts, health } from './health.ts'
import { type NetworkParts, networks } from './networks.ts'
import { type NotificationParts, notifications } from './notifications.ts'
import { type RelayerParts, relayers } from './relayers.ts'
import { type SignerParts, signers } from './signers.ts'
import { type SigningParts, signing } from './signing.ts'
import { type TransactionParts, transactions } from './transactions.ts'

export type OperationParts = AccountParts &
  ApiKeyParts &
  AuditParts &
  DeliveryParts &
  HealthParts &
  NetworkParts &
  NotificationParts &
  RelayerParts &
  SignerParts &
  SigningParts &
  TransactionParts

/** Every operation of the contract: one that is missing here does not compile. */
export const createOperations = (parts: OperationParts): Handlers => ({
  ...signing(parts),
  ...transactions(parts),
  ...notifications(parts),
  ...deliveries(parts),
  ...relayers(parts),
  ...accounts(parts),
  ...signers(parts),
  ...networks(parts),
  ...apiKeys(parts),
  ...audit(parts),
  ...health(parts),
})
