import type { Network, Notification, Relayer, RpcUrl, Signer, Transaction } from '../../generated/openapi.ts'

/**
 * What the service asks of its database: verbs the size of a database transaction. A row is what the contract shows, plus
 * what it must never show (`secret`, `signing_key`, both sealed by keys/vault.ts before they come here) or what the
 * contract has no word for (`key`, a relayer's number, which no later relayer of the same id gets again).
 */
export interface Store {
  /** Changes whenever anything changed that may be cached (relayers, signers, networks), in whichever process. */
  generation(): number
  /** Throws when the database does not answer. */
  ping(): void
  close(): void

  /** The row that proves the master key, made with `make` when there is none yet. */
  vaultCheck(make: () => Uint8Array): Uint8Array

  createNetwork(network: Network): Promise<boolean>
  getNetwork(id: string): Promise<Network | undefined>
  listNetworks(slice: Slice): Promise<Listing<Network>>
  updateNetwork(id: string, change: (network: Network) => Network): Promise<Network | undefined>

  createSigner(signer: SignerRow): Promise<boolean>
  getSigner(id: string): Promise<Signer | undefined>
  getSecret(id: string): Promise<Uint8Array | undefined>
  listSigners(slice: Slice): Promise<Listing<Signer>>
  deleteSigner(id: string): Promise<Deletion>

  createRelayer(relayer: NewRelayer): Promise<RelayerRow | RelayerObstacle>
  getRelayer(id: string): Promise<RelayerRow | undefined>
  listRelayers(slice: Slice): Promise<Listing<RelayerRow>>
  updateRelayer(
    id: string,
    change: (relayer: RelayerRow) => RelayerRow,
  ): Promise<RelayerRow | 'missing' | 'unknown_notification'>
  deleteRelayer(id: string): Promise<Deletion>

  createNotification(notification: NotificationRow): Promise<boolean>
  getNotification(id: string): Promise<Notification | undefined>
  listNotifications(slice: Slice): Promise<Listing<Notification>>
  updateNotification(id: string, changes: NotificationChanges): Promise<Notification | undefined>
  deleteNotification(id: string): Promise<Deletion>

  /** The newest first; costs the same at any depth. */
  listTransactions(relayer_key: number, slice: Slice): Promise<Listing<Transaction>>
}

export interface Slice {
  offset: number
  limit: number
}

export interface Listing<T> {
  items: T[]
  total_items: number
}

export type Deletion = 'deleted' | 'missing' | 'in_use'

export interface SignerRow extends Signer {
  secret: Uint8Array
}

export interface RelayerRow extends Relayer {
  key: number
}

/** The address is the signer's and the chain id the network's; the store reads both in the same transaction. */
export type NewRelayer = Omit<Relayer, 'address'>

export type RelayerObstacle =
  | 'id_taken'
  | 'address_taken'
  | 'unknown_network'
  | 'unknown_signer'
  | 'unknown_notification'

export interface NotificationRow extends Omit<Notification, 'has_signing_key'> {
  signing_key: Uint8Array | null
}

/** What is absent stays. */
export interface NotificationChanges {
  type?: Notification['type']
  url?: string
  signing_key?: Uint8Array | null
}

export type { RpcUrl }
