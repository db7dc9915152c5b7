import type {
  Abi,
  ApiKey,
  FundingStatus,
  ListedAbi,
  Network,
  Notification,
  RpcUrl,
  Signer,
  Sponsorship,
  TransactionStatus,
  Usage,
} from '../../generated/openapi.ts'
import type { AppliedFunding } from '../domain/funding.ts'
import type { SponsorshipRules } from '../domain/policies/sponsored-calls.ts'
import type {
  AbiRow,
  ApiKeyRow,
  ContractFunction,
  Deletion,
  Funding,
  Listing,
  LoginTrust,
  NewPool,
  NewRelayer,
  NotificationChanges,
  NotificationRow,
  PageRequest,
  PendingAuditEntry,
  PoolRow,
  RelayerObstacle,
  RelayerRow,
  SignerRow,
} from '../domain/rows.ts'
import type { Account } from '../domain/transaction-rows.ts'

/**
 * Networks, signers, relayers, API keys and notifications. `auditEntry`: committed in the same database transaction as the changes, if
 * there are any.
 */
export interface ConfigurationStore {
  createNetwork(network: Network, auditEntry?: PendingAuditEntry): Promise<boolean>
  getNetwork(id: string): Promise<Network | undefined>
  listNetworks(slice: PageRequest): Promise<Listing<Network>>
  /** Each network with its own URLs (empty `custom_rpc_urls`), and with the URLs of each of its relayers that has its own. */
  namedEndpoints(): Promise<{ network: Network; custom_rpc_urls: RpcUrl[] }[]>
  updateNetwork(
    id: string,
    change: (network: Network) => Network,
    auditEntry?: PendingAuditEntry,
  ): Promise<Network | undefined>
  /** `in_use`: a relayer uses it. */
  deleteNetwork(id: string, auditEntry?: PendingAuditEntry): Promise<Deletion>

  createAbi(
    abi: AbiRow,
    auditEntry?: PendingAuditEntry,
  ): Promise<'created' | 'id_taken' | 'contract_taken' | 'unknown_network'>
  getAbi(id: string): Promise<Abi | undefined>
  listAbis(slice: PageRequest): Promise<Listing<ListedAbi>>
  deleteAbi(id: string, auditEntry?: PendingAuditEntry): Promise<boolean>
  /** What decodes calls of this contract and function, as human-readable ABI: the function first, then errors. */
  knownFragments(contract: ContractFunction): Promise<string[] | undefined>

  /** `unknown_relayer`: the index of the first id in `relayer_ids` that the network does not have. */
  createPool(
    pool: NewPool,
    auditEntry?: PendingAuditEntry,
  ): Promise<PoolRow | 'id_taken' | 'unknown_network' | { unknown_relayer: number }>
  getPool(id: string): Promise<PoolRow | undefined>
  listPools(slice: PageRequest): Promise<Listing<PoolRow>>
  /** `circle`: a relayer would get its funds from itself, over any number of treasuries. */
  updatePool(
    id: string,
    changes: { name?: string; relayer_ids?: string[]; policies?: PoolRow['policies'] },
    auditEntry?: PendingAuditEntry,
  ): Promise<PoolRow | 'missing' | 'circle' | { unknown_relayer: number }>
  /** Undefined when the pool has no such relayer. */
  weighPoolRelayer(
    id: string,
    relayerId: string,
    weight: number,
    auditEntry?: PendingAuditEntry,
  ): Promise<PoolRow | undefined>
  /**
   * `in_use`: an API key is limited to it; `sponsors`: it sends the calls of a sponsorship; `circle`: by another pool, a relayer would get
   * its funds from itself.
   */
  deletePool(id: string, auditEntry?: PendingAuditEntry): Promise<Deletion | 'sponsors' | 'circle'>

  createSigner(signer: SignerRow, auditEntry?: PendingAuditEntry): Promise<boolean>
  getSigner(id: string): Promise<Signer | undefined>
  getSecret(id: string): Promise<Pick<SignerRow, 'type' | 'secret'> | undefined>
  listSigners(slice: PageRequest): Promise<Listing<Signer>>
  deleteSigner(id: string, auditEntry?: PendingAuditEntry): Promise<Deletion>

  /**
   * Whether a PIN may be tried on a PKCS #11 token; `busy`: another process tries one. `pin`: its MAC. A PIN that the token has accepted
   * may be tried always; otherwise a `caller` may try one until the token refuses one, an `operator` each once, and an `administrator` any.
   */
  beginLogin(token: string, pin: Uint8Array, trust: LoginTrust): Promise<'try' | 'busy' | 'refused'>
  /** `unknown`: the token did not see the PIN. */
  endLogin(token: string, pin: Uint8Array, outcome: 'accepted' | 'refused' | 'unknown'): Promise<void>

  createRelayer(relayer: NewRelayer, auditEntry?: PendingAuditEntry): Promise<RelayerRow | RelayerObstacle>
  getRelayer(id: string): Promise<RelayerRow | undefined>
  /** All relayers with an address, on any chain. */
  relayersOn(address: string): Promise<RelayerRow[]>
  /** `ids`: only these; absent: all. */
  listRelayers(slice: PageRequest, ids?: ReadonlySet<string>): Promise<Listing<RelayerRow>>
  /** `creator`: only this creator's notifications may be attached; absent: any. */
  updateRelayer(
    id: string,
    change: (relayer: RelayerRow) => RelayerRow,
    auditEntry?: PendingAuditEntry,
    creator?: string,
  ): Promise<RelayerRow | 'missing' | 'unknown_notification'>
  /** `in_use`: it has unfinished transactions. `treasury`: it funds other relayers. */
  deleteRelayer(id: string, auditEntry?: PendingAuditEntry): Promise<Deletion | 'treasury'>

  /** `unknown_relayer`, `unknown_pool`: the index of the first id that does not exist. */
  createApiKey(
    apiKey: ApiKeyRow,
    auditEntry?: PendingAuditEntry,
  ): Promise<ApiKeyRow | 'too_many' | 'name_taken' | UnknownLimit>
  getApiKey(id: string): Promise<ApiKeyRow | undefined>
  listApiKeys(slice: PageRequest): Promise<Listing<ApiKeyRow>>
  updateApiKey(
    id: string,
    changes: Partial<ApiKey>,
    auditEntry?: PendingAuditEntry,
  ): Promise<ApiKeyRow | 'missing' | 'name_taken' | UnknownLimit>
  /** The present secret stays valid until `former_valid_until`; null: it becomes invalid at once. */
  rotateApiKey(
    id: string,
    secretHash: Uint8Array,
    formerValidUntil: string | null,
    auditEntry?: PendingAuditEntry,
  ): Promise<ApiKeyRow | undefined>
  deleteApiKey(id: string, auditEntry?: PendingAuditEntry): Promise<Deletion>
  /** All of them, for the authentication of requests; there are at most 1,000. */
  apiKeys(): Promise<ApiKeyRow[]>
  /** One of them; undefined when there is none, or another program changed it. */
  apiKey(id: string): Promise<ApiKeyRow | undefined>
  /** Stores the time of the last use, by id. */
  noteApiKeyUses(uses: ReadonlyMap<string, string>): Promise<void>

  /** `max_of_creator`: the most notifications of its creator; absent: no limit. */
  createNotification(
    notification: NotificationRow,
    auditEntry?: PendingAuditEntry,
    maxOfCreator?: number,
  ): Promise<'created' | 'id_taken' | 'too_many'>
  /** Here and below, `creator` limits the method to the notifications of one creator; others are treated as missing. */
  getNotification(id: string, creator?: string): Promise<Notification | undefined>
  listNotifications(slice: PageRequest, creator?: string): Promise<Listing<Notification>>
  updateNotification(
    id: string,
    changes: NotificationChanges,
    auditEntry?: PendingAuditEntry,
    creator?: string,
  ): Promise<Notification | undefined>
  deleteNotification(id: string, auditEntry?: PendingAuditEntry, creator?: string): Promise<Deletion>
}

/** The index of the first id of a relayer, or of a pool, that does not exist. */
export type UnknownLimit = { unknown_relayer: number } | { unknown_pool: number }

/** A refill, which was accepted in one commit with its transaction. */
export interface Refill {
  row_id: number
  treasury_row_id: number
  treasury_id: string
  amount: string
  transaction_id: string
  created_at: string
  /** Its transaction is unfinished. */
  is_open: boolean
  /** Of its transaction, as the two below; null: that was removed, long after its end. */
  status: TransactionStatus | null
  from: string | null
  /** Null: it is in no block, or in one of a chain that was restarted since. */
  mined_nonce: number | null
}

export interface FundingNote {
  state: FundingStatus
  reason: string | null
  since: string
}

/** Relayers that get their funds from others. */
export interface FundingStore {
  /** Null ends it. `unknown_treasury`: no relayer of the same chain has this id. `circle`: the treasury gets its funds from the relayer. */
  setFunding(
    id: string,
    funding: Funding | null,
    auditEntry?: PendingAuditEntry,
  ): Promise<RelayerRow | 'missing' | 'unknown_treasury' | 'circle'>
  /** As `setFunding`, for the relayers of a pool that have no funding of their own. */
  setPoolFunding(
    id: string,
    funding: Funding | null,
    auditEntry?: PendingAuditEntry,
  ): Promise<PoolRow | 'missing' | 'unknown_treasury' | 'circle'>
  /** Undefined: it gets no funds from another relayer. */
  fundingOf(relayer: RelayerRow): Promise<AppliedFunding | undefined>
  /** The row ids of the relayers that have a funding, or that a pool funds. */
  fundedRelayers(): Promise<number[]>
  /** The newest first; at most 20. */
  refills(relayerRowId: number): Promise<Refill[]>
  /** Stores it if it is another state or reason. An event is written when the relayer can no longer be refilled, or can again. */
  noteFunding(relayerRowId: number, note: Pick<FundingNote, 'state' | 'reason'>): Promise<void>
  /** By the relayer's row id; relayers that were not examined yet have none. */
  fundingNotes(): Promise<Map<number, FundingNote>>
  /** What counts for a daily limit now. `asset`: as in `Spend`. */
  spentPerDay(account: Account, asset: string): Promise<string>
  /** Whether an unfinished transaction of the relayer calls a contract or creates one. */
  hasUnfinishedCalls(relayerRowId: number): Promise<boolean>
  /** The fees that the relayer paid since then, in wei. `from`: seconds since the Unix epoch. Counted by the quarter of an hour. */
  feesSince(relayerRowId: number, from: number): Promise<bigint>
}

export interface SponsorshipRow extends Omit<Sponsorship, 'usage'> {
  row_id: number
  chain_id: number
  /** One of the two: what sends the calls. The row ids tell them from later ones with the same id. */
  relayer_row_id: number | null
  pool_row_id: number | null
}

export interface NewSponsorship extends SponsorshipRules {
  id: string
  paused: boolean
  created_at: string
  /** Exactly one of the two. */
  relayer_id?: string
  pool_id?: string
}

/** Sponsorships, and what their limits have left. `auditEntry`: committed in the same database transaction. */
export interface SponsorshipStore {
  /** Together with its API key. */
  createSponsorship(
    sponsorship: NewSponsorship,
    apiKey: ApiKeyRow,
    auditEntry?: PendingAuditEntry,
  ): Promise<SponsorshipRow | 'id_taken' | 'too_many_keys' | 'key_name_taken' | 'unknown_relayer' | 'unknown_pool'>
  getSponsorship(id: string): Promise<SponsorshipRow | undefined>
  sponsorshipOfKey(apiKeyId: string): Promise<SponsorshipRow | undefined>
  listSponsorships(slice: PageRequest): Promise<Listing<SponsorshipRow>>
  updateSponsorship(
    id: string,
    changes: Partial<SponsorshipRules> & { paused?: boolean },
    auditEntry?: PendingAuditEntry,
  ): Promise<SponsorshipRow | undefined>
  /** Its API key is removed with it. */
  deleteSponsorship(id: string, auditEntry?: PendingAuditEntry): Promise<boolean>
  /** The origins that any sponsorship lists. */
  sponsorshipOrigins(): Promise<ReadonlySet<string>>
  /** The use of a daily limit. `place`: under which the amounts are counted (Spend). */
  usage(place: { chain_id: number; holder: string; asset: string; limit: string }): Promise<Usage>
}
