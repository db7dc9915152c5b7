import type { Network, RpcUrl } from '../../../generated/openapi.ts'
import { noteChanges } from '../../domain/changes.ts'
import { checkRevision, withRevision } from '../../domain/revision.ts'
import {
  type Conditions,
  type Deletion,
  type Listing,
  maxUsers,
  type PageRequest,
  type PendingAuditEntry,
} from '../../domain/rows.ts'
import { type Database, type Session, type StoredSeal, sql, type TableList, usersOf } from './database.ts'
import { sealedColumns } from './sealed-rows.ts'

type JsonColumn = 'rpc_urls' | 'explorer_urls' | 'features' | 'tags' | 'private_rpc_urls' | 'submission' | 'coin_token'
type StoredNetwork = Omit<Network, JsonColumn | 'is_testnet' | 'revision' | 'warnings'> & {
  rpc_urls: string
  explorer_urls: string
  features: string
  tags: string
  /** Null: none. */
  private_rpc_urls: string | null
  /** Null: public. */
  submission: string | null
  coin_token: string | null
  is_testnet: 0 | 1
}

type NewNetwork = Omit<Network, 'revision' | 'warnings' | 'created_at'>

const written = `id, name, network_type, chain_id, rpc_urls, symbol, required_confirmations, average_blocktime_ms,
  is_testnet, explorer_urls, features, tags, private_rpc_urls, submission, min_priority_fee_per_gas, min_gas_price, coin_token`
const networkColumns = `${written}, created_at`

const readNetwork = (row: StoredNetwork): Network =>
  withRevision('networks', {
    ...row,
    rpc_urls: JSON.parse(row.rpc_urls),
    explorer_urls: JSON.parse(row.explorer_urls),
    features: JSON.parse(row.features),
    tags: JSON.parse(row.tags),
    private_rpc_urls: JSON.parse(row.private_rpc_urls ?? '[]'),
    submission: { mode: 'public', after_blocks: null, ...JSON.parse(row.submission ?? '{}') },
    coin_token: JSON.parse(row.coin_token ?? 'null'),
    is_testnet: row.is_testnet === 1,
  })

const networkList: TableList<StoredNetwork, Network> = { table: 'networks', columns: networkColumns, read: readNetwork }

const encodeNetwork = (network: NewNetwork): Omit<StoredNetwork, 'created_at'> => ({
  ...network,
  rpc_urls: JSON.stringify(network.rpc_urls),
  explorer_urls: JSON.stringify(network.explorer_urls),
  features: JSON.stringify(network.features),
  tags: JSON.stringify(network.tags),
  private_rpc_urls: network.private_rpc_urls.length > 0 ? JSON.stringify(network.private_rpc_urls) : null,
  submission: network.submission.mode === 'public' ? null : JSON.stringify(network.submission),
  coin_token: network.coin_token && JSON.stringify(network.coin_token),
  is_testnet: network.is_testnet ? 1 : 0,
})

const selectNetwork = sql<StoredNetwork & StoredSeal>(
  (engine) => `SELECT ${networkColumns}, ${sealedColumns(engine, 'networks')} FROM networks WHERE id = $id`,
)
const insertNetworkRow = sql<StoredNetwork & { row_id: number }>(`
  INSERT INTO networks (${written})
  VALUES ($id, $name, $network_type, $chain_id, $rpc_urls, $symbol, $required_confirmations, $average_blocktime_ms,
    $is_testnet, $explorer_urls, $features, $tags, $private_rpc_urls, $submission, $min_priority_fee_per_gas, $min_gas_price, $coin_token)
  ON CONFLICT DO NOTHING RETURNING row_id, ${networkColumns}`)
const update = sql(`
  UPDATE networks SET rpc_urls = $rpc_urls, symbol = $symbol, required_confirmations = $required_confirmations,
    average_blocktime_ms = $average_blocktime_ms, is_testnet = $is_testnet, explorer_urls = $explorer_urls,
    features = $features, tags = $tags, private_rpc_urls = $private_rpc_urls, submission = $submission,
    min_priority_fee_per_gas = $min_priority_fee_per_gas, min_gas_price = $min_gas_price, coin_token = $coin_token
  WHERE row_id = $row_id`)
const every = sql<StoredNetwork>(`SELECT ${networkColumns} FROM networks`)
const custom = sql<{ network: string; custom_rpc_urls: string }>(
  `SELECT DISTINCT network, custom_rpc_urls FROM relayers WHERE custom_rpc_urls <> '[]'`,
)
const rowIdOfNetwork = sql<{ row_id: number }>('SELECT row_id FROM networks WHERE id = $id')
const used = sql<{ id: string }>(
  `SELECT id FROM relayers WHERE network = (SELECT name FROM networks WHERE id = $id) ORDER BY id LIMIT ${maxUsers}`,
)
const deleteNetworkRow = sql('DELETE FROM networks WHERE row_id = $row_id')
const ofNetwork = (table: string) =>
  sql(`DELETE FROM ${table} WHERE network = (SELECT name FROM networks WHERE row_id = $row_id)`)
const [removeAbis, removePools] = [ofNetwork('abis'), ofNetwork('pools')]

/** Throws DomainError (503) for a row that another program has changed. */
async function trusted(
  database: Database,
  session: Session,
  id: string,
): Promise<{ row_id: number; network: Network } | undefined> {
  const found = await database.rights.require('networks', () => session.one(selectNetwork, { id }), id)
  if (!found) return undefined
  const { row_id, ...row } = found
  return { row_id, network: readNetwork(row) }
}

export const createNetwork = (
  database: Database,
  network: NewNetwork,
  auditEntry?: PendingAuditEntry,
): Promise<Network | undefined> =>
  database.writeCached(async (dbTransaction) => {
    const found = await dbTransaction.one(insertNetworkRow, encodeNetwork(network))
    if (!found) return undefined
    const { row_id: rowId, ...row } = found
    database.rights.inserted(dbTransaction, 'networks', rowId)
    return readNetwork(row)
  }, auditEntry)

export const getNetwork = async (database: Database, id: string): Promise<Network | undefined> =>
  (await trusted(database, database.read, id))?.network

export const listNetworks = (database: Database, slice: PageRequest): Promise<Listing<Network>> =>
  database.list(networkList, slice)

/** Each network with its own URLs (empty `custom_rpc_urls`), and with the URLs of each of its relayers that has its own. */
export async function namedEndpoints(database: Database): Promise<{ network: Network; custom_rpc_urls: RpcUrl[] }[]> {
  const networks = (await database.read.all(every)).map(readNetwork)
  const byName = new Map(networks.map((network) => [network.name, network]))
  const own = networks.map((network) => ({ network, custom_rpc_urls: [] as RpcUrl[] }))
  const customs = (await database.read.all(custom)).flatMap(({ network: name, custom_rpc_urls }) => {
    const network = byName.get(name)
    return network ? [{ network, custom_rpc_urls: JSON.parse(custom_rpc_urls) as RpcUrl[] }] : []
  })
  return [...own, ...customs]
}

export const updateNetwork = (
  database: Database,
  id: string,
  change: (network: Network) => Network,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<Network | undefined> =>
  database.writeCached(async (dbTransaction) => {
    const found = await trusted(database, dbTransaction, id)
    if (!found) return undefined
    checkRevision('networks', found.network.revision, ifMatch)
    const changed = withRevision('networks', change(found.network))
    noteChanges(auditEntry, 'networks', found.network, changed)
    await database.rights.updated(dbTransaction, 'networks', found.row_id)
    await dbTransaction.run(update, { ...encodeNetwork(changed), row_id: found.row_id })
    return changed
  }, auditEntry)

export const deleteNetwork = (
  database: Database,
  id: string,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<Deletion> =>
  database.writeCached(async (dbTransaction) => {
    const row = await dbTransaction.one(rowIdOfNetwork, { id })
    if (!row) return 'missing'
    const before = ifMatch && (await trusted(database, dbTransaction, id))
    if (before) checkRevision('networks', before.network.revision, ifMatch)
    const users = await usersOf(dbTransaction, 'relayers', used, { id })
    if (users) return users
    await database.rights.deleted(dbTransaction, 'networks', row.row_id)
    await dbTransaction.run(removeAbis, row)
    await dbTransaction.run(removePools, row)
    await dbTransaction.run(deleteNetworkRow, row)
    return 'deleted'
  }, auditEntry)
