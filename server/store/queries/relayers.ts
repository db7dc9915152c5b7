import type { Funding, Network, Signer } from '../../../generated/openapi.ts'
import { noteChanges } from '../../domain/changes.ts'
import { checkRevision, fundingRevision, withRevision } from '../../domain/revision.ts'
import {
  type Conditions,
  type Deletion,
  type Listing,
  maxUsers,
  type NewRelayer,
  type PageRequest,
  type PendingAuditEntry,
  type RelayerObstacle,
  type RelayerRow,
} from '../../domain/rows.ts'
import {
  type Database,
  type DatabaseTransaction,
  type Engine,
  type Session,
  type StoredSeal,
  sql,
  type TableList,
  type Trust,
  usersOf,
} from './database.ts'
import { changeEvent, lowBalanceEvent, writeEvents } from './events.ts'
import { sealedColumns } from './sealed-rows.ts'
import { changeFunding, fundedBy } from './treasuries.ts'

type Stored =
  | 'paused'
  | 'system_disabled'
  | 'policies'
  | 'custom_rpc_urls'
  | 'notification_ids'
  | 'funding'
  | 'coin_token'
type StoredRelayer = Omit<RelayerRow, Stored | 'revision'> & {
  notification_id: string | null
  other_notification_ids: string | null
  paused: 0 | 1
  system_disabled: 0 | 1
  policies: string
  custom_rpc_urls: string
  funding: string | null
  coin_token: string | null
}

const relayerColumns = `row_id, id, name, network, network_type, paused, address, signer_id, notification_id, other_notification_ids,
  policies, custom_rpc_urls, system_disabled, disabled_reason, chain_id, funding, created_at,
  (SELECT coin_token FROM networks WHERE networks.name = relayers.network) AS coin_token`

const readRelayer = ({ notification_id, other_notification_ids, ...row }: StoredRelayer): RelayerRow =>
  withRevision('relayers', {
    ...row,
    notification_ids: notification_id === null ? [] : [notification_id, ...JSON.parse(other_notification_ids ?? '[]')],
    paused: row.paused === 1,
    system_disabled: row.system_disabled === 1,
    policies: JSON.parse(row.policies),
    custom_rpc_urls: JSON.parse(row.custom_rpc_urls),
    funding: row.funding === null ? null : JSON.parse(row.funding),
    coin_token: JSON.parse(row.coin_token ?? 'null'),
  })

/** The columns whose stored form differs from the contract's. */
const encodeRelayer = (relayer: NewRelayer) => ({
  paused: relayer.paused ? (1 as const) : (0 as const),
  system_disabled: relayer.system_disabled ? (1 as const) : (0 as const),
  policies: JSON.stringify(relayer.policies),
  custom_rpc_urls: JSON.stringify(relayer.custom_rpc_urls),
  notification_id: relayer.notification_ids[0] ?? null,
  other_notification_ids:
    relayer.notification_ids.length > 1 ? JSON.stringify(relayer.notification_ids.slice(1)) : null,
})

type Sealed = StoredRelayer & StoredSeal

const sealed = (engine: Engine) => `${relayerColumns}, ${sealedColumns(engine, 'relayers')}`
const selectRelayer = sql<Sealed>((engine) => `SELECT ${sealed(engine)} FROM relayers WHERE id = $id`)
const selectByRowId = sql<Sealed>((engine) => `SELECT ${sealed(engine)} FROM relayers WHERE row_id = $row_id`)
const selectSome = sql<StoredRelayer>(
  `SELECT ${relayerColumns} FROM relayers WHERE id = ANY ($ids::text[]) ORDER BY row_id`,
)
const selectOn = sql<Sealed>(
  (engine) => `SELECT ${sealed(engine)} FROM relayers WHERE address = $address ORDER BY row_id`,
)
const rowIdOfRelayer = sql<{ row_id: number }>('SELECT row_id FROM relayers WHERE id = $id')
const networkOf = sql<StoredSeal & Pick<Network, 'id' | 'chain_id'>>(
  (engine) => `SELECT id, chain_id, ${sealedColumns(engine, 'networks')} FROM networks WHERE name = $name`,
)
const signerOf = sql<StoredSeal & Pick<Signer, 'id' | 'address'>>(
  (engine) => `SELECT id, address, ${sealedColumns(engine, 'signers')} FROM signers WHERE id = $id`,
)
// Locked until the relayer refers to it: the list of the others is no foreign key.
const creatorOf = sql<{ created_by: string }>('SELECT created_by FROM notifications WHERE id = $id FOR KEY SHARE')
const sameAddress = sql('SELECT 1 FROM relayers WHERE chain_id = $chain_id AND address = $address')
const insertRelayerRow = sql<StoredRelayer>(`
  INSERT INTO relayers (id, name, network, network_type, chain_id, paused, address, signer_id, notification_id,
    other_notification_ids, policies, custom_rpc_urls, system_disabled, disabled_reason)
  VALUES ($id, $name, $network, $network_type, $chain_id, $paused, $address, $signer_id, $notification_id,
    $other_notification_ids, $policies, $custom_rpc_urls, $system_disabled, $disabled_reason)
  RETURNING ${relayerColumns}`)
const updateRelayerRow = sql(`
  UPDATE relayers SET name = $name, paused = $paused, notification_id = $notification_id,
    other_notification_ids = $other_notification_ids, policies = $policies,
    custom_rpc_urls = $custom_rpc_urls, system_disabled = $system_disabled, disabled_reason = $disabled_reason
  WHERE row_id = $row_id`)
const writeFunding = sql('UPDATE relayers SET funding = $funding WHERE row_id = $row_id')
const onChain = sql('SELECT 1 FROM relayers WHERE id = $id AND chain_id = $chain_id')
const forgetNote = sql('DELETE FROM funding_states WHERE relayer_row_id = $row_id')
const lockToDelete = sql('SELECT 1 FROM relayers WHERE row_id = $row_id FOR UPDATE')
const unfinished = sql(`
  SELECT 1 FROM transactions WHERE relayer_row_id = $row_id AND status = 'pending'
  UNION ALL SELECT 1 FROM transactions WHERE relayer_row_id = $row_id AND status IN ('sent', 'submitted')
  UNION ALL SELECT 1 FROM transactions WHERE relayer_row_id = $row_id AND status = 'mined' LIMIT 1`)
const limitedKeys = sql<{ row_id: number }>(
  'SELECT api_key_row_id AS row_id FROM api_key_relayers WHERE relayer_row_id = $row_id ORDER BY api_key_row_id',
)
const itsSponsorships = sql<{ id: string }>(
  `SELECT id FROM sponsorships WHERE relayer_row_id = $row_id ORDER BY id LIMIT ${maxUsers}`,
)
const itsPools = sql<{ row_id: number }>(
  'SELECT pool_row_id AS row_id FROM pool_relayers WHERE relayer_row_id = $row_id ORDER BY pool_row_id',
)
const lowBalance = sql<{ low_balance: 0 | 1 }>('SELECT low_balance FROM relayers WHERE row_id = $row_id')
const setLowBalance = sql(
  'UPDATE relayers SET low_balance = $low_balance WHERE row_id = $row_id AND low_balance <> $low_balance',
)
const deleteRelayerRow = sql('DELETE FROM relayers WHERE row_id = $row_id')
const remember = sql('INSERT INTO former_relayers (row_id, relayer_id) VALUES ($row_id, $id)')
const takeOverKeys = sql(`
  UPDATE idempotency SET relayer_row_id = $row_id
  WHERE relayer_row_id IN (SELECT row_id FROM former_relayers WHERE relayer_id = $id)`)
const forget = sql('DELETE FROM former_relayers WHERE relayer_id = $id')

const relayerList: TableList<StoredRelayer, RelayerRow> = {
  table: 'relayers',
  columns: relayerColumns,
  read: readRelayer,
}

/** Throws DomainError (503) for a row that another program has changed, as `relayerByRowId` does. */
async function relayerById(rights: Trust, session: Session, id: string): Promise<RelayerRow | undefined> {
  const row = await rights.require('relayers', () => session.one(selectRelayer, { id }), id)
  return row && readRelayer(row)
}

export async function relayerByRowId(rights: Trust, session: Session, rowId: number) {
  const row = await rights.require('relayers', () => session.one(selectByRowId, { row_id: rowId }))
  return row && readRelayer(row)
}

/** Whether one of them does not exist, or was created by another than `creator`. */
async function isUnknown(
  dbTransaction: DatabaseTransaction,
  notificationIds: string[],
  creator?: string,
): Promise<boolean> {
  for (const id of notificationIds) {
    const its = await dbTransaction.one(creatorOf, { id })
    if (its === undefined || (creator !== undefined && creator !== its.created_by)) return true
  }
  return false
}

export const createRelayer = (
  database: Database,
  relayer: NewRelayer,
  auditEntry?: PendingAuditEntry,
): Promise<RelayerRow | RelayerObstacle> =>
  database.writeCached(async (dbTransaction) => {
    if (await dbTransaction.one(rowIdOfRelayer, { id: relayer.id })) return 'id_taken'
    const { network: name, signer_id } = relayer
    const network = await database.rights.require(
      'networks',
      () => dbTransaction.one(networkOf, { name }),
      `evm:${name}`,
    )
    if (!network) return 'unknown_network'
    const findSigner = () => dbTransaction.one(signerOf, { id: signer_id })
    const signer = await database.rights.require('signers', findSigner, signer_id)
    if (!signer) return 'unknown_signer'
    if (await isUnknown(dbTransaction, relayer.notification_ids)) return 'unknown_notification'
    const [{ chain_id }, { address }] = [network, signer]
    if (await dbTransaction.one(sameAddress, { chain_id, address })) return 'address_taken'
    const row = (await dbTransaction.one(insertRelayerRow, {
      ...relayer,
      ...encodeRelayer(relayer),
      address,
      chain_id,
    })) as StoredRelayer
    database.rights.inserted(dbTransaction, 'relayers', row.row_id)
    await dbTransaction.run(takeOverKeys, { row_id: row.row_id, id: row.id })
    await dbTransaction.run(forget, { id: row.id })
    return readRelayer(row)
  }, auditEntry)

export const getRelayer = (database: Database, id: string): Promise<RelayerRow | undefined> =>
  relayerById(database.rights, database.read, id)

export const getRelayerByRowId = (database: Database, rowId: number): Promise<RelayerRow | undefined> =>
  relayerByRowId(database.rights, database.read, rowId)

/** All relayers with an address, on any chain. */
export async function relayersOn(database: Database, address: string): Promise<RelayerRow[]> {
  return (await database.rights.requireAll('relayers', () => database.read.all(selectOn, { address }))).map(readRelayer)
}

/** `ids`: only these; absent: all. */
export async function listRelayers(
  database: Database,
  slice: PageRequest,
  ids?: ReadonlySet<string>,
): Promise<Listing<RelayerRow>> {
  if (ids === undefined) return database.list(relayerList, slice)
  const rows = await database.read.all(selectSome, { ids: [...ids] })
  return { items: rows.slice(slice.offset, slice.offset + slice.limit).map(readRelayer), total_items: rows.length }
}

/** `creator`: only this creator's notifications may be attached; absent: any. */
export const updateRelayer = (
  database: Database,
  id: string,
  change: (relayer: RelayerRow) => RelayerRow,
  { auditEntry, ifMatch, creator }: Conditions & { creator?: string | undefined } = {},
): Promise<RelayerRow | 'missing' | 'unknown_notification'> =>
  database.writeCached(async (dbTransaction) => {
    const found = await dbTransaction.one(rowIdOfRelayer, { id })
    if (!found) return 'missing'
    await dbTransaction.lockRelayers({ relayers: [found.row_id] })
    const before = await relayerById(database.rights, dbTransaction, id)
    if (!before) return 'missing'
    checkRevision('relayers', before.revision, ifMatch)
    const changed = withRevision('relayers', change(before))
    noteChanges(auditEntry, 'relayers', before, changed)
    const added = changed.notification_ids.filter((its) => !before.notification_ids.includes(its))
    if (await isUnknown(dbTransaction, added, creator)) return 'unknown_notification'
    await database.rights.updated(dbTransaction, 'relayers', before.row_id)
    const { funding: _, coin_token: __, ...itsColumns } = changed
    await dbTransaction.run(updateRelayerRow, { ...itsColumns, ...encodeRelayer(changed) })
    const event = changeEvent(before, changed)
    if (event) await writeEvents(dbTransaction, [event])
    const { disabled_reason } = changed
    if (before.disabled_reason !== disabled_reason) {
      dbTransaction.afterCommit(() => database.effects.observer?.relayerChanged?.({ relayer_id: id, disabled_reason }))
    }
    return changed
  }, auditEntry)

/** Null ends it. `unknown_treasury`: no relayer of the same chain has this id. `circle`: the treasury gets its funds from the relayer. */
export const setFunding = (
  database: Database,
  id: string,
  funding: Funding | null,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<RelayerRow | 'missing' | 'unknown_treasury' | 'circle'> =>
  changeFunding(
    database,
    async (dbTransaction) => {
      const found = await dbTransaction.one(rowIdOfRelayer, { id })
      const before = found && (await relayerById(database.rights, dbTransaction, id))
      if (!before) return 'missing'
      checkRevision('funding', fundingRevision(before.funding), ifMatch)
      noteChanges(auditEntry, 'funding', before.funding, funding)
      const { chain_id } = before
      if (funding && !(await dbTransaction.one(onChain, { id: funding.treasury_id, chain_id })))
        return 'unknown_treasury'
      await database.rights.updated(dbTransaction, 'relayers', before.row_id)
      await dbTransaction.run(writeFunding, { row_id: before.row_id, funding: funding && JSON.stringify(funding) })
      await dbTransaction.run(forgetNote, { row_id: before.row_id })
      return { ...before, funding }
    },
    auditEntry,
  )

/** Writes an event when the balance falls below the policy; the next one only after the balance has recovered. */
export async function noteBalance(
  database: Database,
  rowId: number,
  { balance, min_balance, is_low }: { balance: string; min_balance: string; is_low: boolean },
): Promise<void> {
  // Read first, because the value rarely changes and a write costs a commit.
  if (((await database.read.one(lowBalance, { row_id: rowId }))?.low_balance === 1) === is_low) return
  await database.write(async (dbTransaction) => {
    await dbTransaction.lockRelayers({ relayers: [rowId] })
    const isChanged = (await dbTransaction.run(setLowBalance, { row_id: rowId, low_balance: is_low ? 1 : 0 })) === 1
    const row = isChanged && is_low ? await relayerByRowId(database.rights, dbTransaction, rowId) : undefined
    if (row) await writeEvents(dbTransaction, [lowBalanceEvent(row, balance, min_balance)])
  })
}

/** `unfinished`: it has such transactions. */
// A relayer that funds none is on no way between others, so that without it nobody gets another treasury.
export const deleteRelayer = (
  database: Database,
  id: string,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<Deletion | 'unfinished'> =>
  database.writeCached(async (dbTransaction) => {
    const row = await dbTransaction.one(rowIdOfRelayer, { id })
    if (!row) return 'missing'
    // Waits for the transactions that are being accepted; later ones find no relayer.
    await dbTransaction.one(lockToDelete, row)
    const before = ifMatch && (await relayerById(database.rights, dbTransaction, id))
    if (before) checkRevision('relayers', before.revision, ifMatch)
    if (await dbTransaction.one(unfinished, row)) return 'unfinished'
    const users =
      (await usersOf(dbTransaction, 'funding', fundedBy, { id })) ??
      (await usersOf(dbTransaction, 'sponsorships', itsSponsorships, row))
    if (users) return users
    // The MACs of API keys and pools cover their lists of relayers, which become shorter.
    for (const key of await dbTransaction.all(limitedKeys, row))
      await database.rights.updated(dbTransaction, 'api_keys', key.row_id)
    for (const pool of await dbTransaction.all(itsPools, row))
      await database.rights.updated(dbTransaction, 'pools', pool.row_id)
    await database.rights.deleted(dbTransaction, 'relayers', row.row_id)
    await dbTransaction.run(deleteRelayerRow, row)
    await dbTransaction.run(remember, { row_id: row.row_id, id })
    return 'deleted'
  }, auditEntry)
