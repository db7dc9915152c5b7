import type { Network, Signer } from '../../../generated/openapi.ts'
import type { RelayerRow } from '../../core/rows.ts'
import { columns, encode, type Row, read } from '../relayer-rows.ts'
import type { SealedRow } from '../rights-tables.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import type { Connection } from './connection.ts'
import { createEvents } from './events.ts'
import { lister } from './lists.ts'
import { sealedColumns } from './rights-tables.ts'

type Sealed = Row & SealedRow

type Relayers = Pick<
  Store,
  | 'createRelayer'
  | 'getRelayer'
  | 'getRelayerByRowId'
  | 'relayersOn'
  | 'listRelayers'
  | 'updateRelayer'
  | 'deleteRelayer'
  | 'noteBalance'
>

export function relayers(connection: Connection, dependencies: StoreDependencies): Relayers {
  const { db, write, writeCached, rights } = connection
  const events = createEvents(connection, dependencies)
  const sealed = `${columns}, ${sealedColumns('relayers')}`
  const select = db.prepare<[string], Sealed>(`SELECT ${sealed} FROM relayers WHERE id = ?`)
  const selectByRowId = db.prepare<[number], Sealed>(`SELECT ${sealed} FROM relayers WHERE row_id = ?`)
  const selectSome = db.prepare<[string], Row>(
    `SELECT ${columns} FROM relayers WHERE id IN (SELECT value FROM json_each(?)) ORDER BY row_id`,
  )
  const selectOn = db.prepare<[string], Sealed>(`SELECT ${sealed} FROM relayers WHERE address = +? ORDER BY row_id`)
  const listAll = lister(db, 'relayers', columns, read)
  const networkOf = db.prepare<[string], SealedRow & Pick<Network, 'id' | 'chain_id'>>(
    `SELECT id, chain_id, ${sealedColumns('networks')} FROM networks WHERE name = ?`,
  )
  const signerOf = db.prepare<[string], SealedRow & Pick<Signer, 'id' | 'address'>>(
    `SELECT id, address, ${sealedColumns('signers')} FROM signers WHERE id = ?`,
  )
  const creatorOf = db.prepare<[string], string>('SELECT created_by FROM notifications WHERE id = ?').pluck()
  const sameAddress = db.prepare('SELECT 1 FROM relayers WHERE chain_id = ? AND address = ?')
  const insert = db.prepare<[Omit<Row, 'row_id'>], Row>(`
    INSERT INTO relayers (id, name, network, network_type, chain_id, paused, address, signer_id, notification_id,
      policies, custom_rpc_urls, system_disabled, disabled_reason)
    VALUES ($id, $name, $network, $network_type, $chain_id, $paused, $address, $signer_id, $notification_id,
      $policies, $custom_rpc_urls, $system_disabled, $disabled_reason)
    RETURNING ${columns}`)
  const update = db.prepare<[Row]>(`
    UPDATE relayers SET name = $name, paused = $paused, notification_id = $notification_id, policies = $policies,
      custom_rpc_urls = $custom_rpc_urls, system_disabled = $system_disabled, disabled_reason = $disabled_reason
    WHERE row_id = $row_id`)
  const unfinished = db.prepare<[{ row_id: number }]>(`
    SELECT 1 FROM transactions WHERE relayer_row_id = +$row_id AND status = 'pending'
    UNION ALL SELECT 1 FROM transactions WHERE relayer_row_id = +$row_id AND status IN ('sent', 'submitted')
    UNION ALL SELECT 1 FROM transactions WHERE relayer_row_id = +$row_id AND status = 'mined' LIMIT 1`)
  const lowBalance = db.prepare<[number], 0 | 1>('SELECT low_balance FROM relayers WHERE row_id = ?').pluck()
  const setLowBalance = db.prepare<[0 | 1, number]>('UPDATE relayers SET low_balance = ? WHERE row_id = ?')
  const remove = db.prepare('DELETE FROM relayers WHERE row_id = ?')
  const remember = db.prepare<[number, string]>('INSERT INTO former_relayers (row_id, relayer_id) VALUES (?, ?)')
  const takeOverKeys = db.prepare<[{ row_id: number; id: string }]>(`
    UPDATE idempotency SET relayer_row_id = $row_id
    WHERE relayer_row_id IN (SELECT row_id FROM former_relayers WHERE relayer_id = $id)`)
  const forget = db.prepare<[string]>('DELETE FROM former_relayers WHERE relayer_id = ?')

  /** Throws ApiError (503) for a row that another program has changed. */
  const trusted = (row: Sealed, id?: string) => read(rights.require('relayers', row, id))
  const unknownNotification = (id: string | null, creator?: string) => {
    if (id === null) return false
    const its = creatorOf.get(id)
    return its === undefined || (creator !== undefined && creator !== its)
  }

  return {
    createRelayer: async (relayer) =>
      writeCached(() => {
        if (select.get(relayer.id)) return 'id_taken'
        const network = networkOf.get(relayer.network)
        if (!network) return 'unknown_network'
        const signer = signerOf.get(relayer.signer_id)
        if (!signer) return 'unknown_signer'
        const { chain_id } = rights.require('networks', network, `evm:${relayer.network}`)
        const { address } = rights.require('signers', signer, relayer.signer_id)
        if (unknownNotification(relayer.notification_id)) return 'unknown_notification'
        if (sameAddress.get(chain_id, address)) return 'address_taken'
        const row = read(insert.get({ ...relayer, ...encode(relayer), address, chain_id }) as Row)
        takeOverKeys.run({ row_id: row.row_id, id: row.id })
        forget.run(row.id)
        return row
      }),
    async getRelayer(id) {
      const row = select.get(id)
      return row && trusted(row, id)
    },
    async getRelayerByRowId(row_id) {
      const row = selectByRowId.get(row_id)
      return row && trusted(row)
    },
    relayersOn: async (address) => selectOn.all(address).map((row) => trusted(row)),
    listRelayers: async (slice, ids) => {
      if (ids === undefined) return listAll(slice)
      const rows = selectSome.all(JSON.stringify([...ids]))
      return { items: rows.slice(slice.offset, slice.offset + slice.limit).map(read), total_items: rows.length }
    },
    updateRelayer: async (id, change, creator) => {
      let before: RelayerRow | undefined
      const updated = writeCached(() => {
        const row = select.get(id)
        if (!row) return 'missing'
        before = trusted(row, id)
        const changed = change(before)
        const { notification_id } = changed
        const isKept = notification_id === before.notification_id
        if (!isKept && unknownNotification(notification_id, creator)) return 'unknown_notification'
        update.run({ ...changed, ...encode(changed) })
        events.ofChange(before, changed)
        return changed
      })
      // After the commit, so that a change that is rolled back is not reported.
      if (typeof updated !== 'string' && before && before.disabled_reason !== updated.disabled_reason) {
        dependencies.observer?.relayerChanged?.({ relayer_id: id, disabled_reason: updated.disabled_reason })
      }
      return updated
    },
    noteBalance: async (row_id, balance, min_balance, isLow) => {
      // Read first, because the value rarely changes and a write costs a commit.
      if ((lowBalance.get(row_id) === 1) === isLow) return
      write(() => {
        setLowBalance.run(isLow ? 1 : 0, row_id)
        const row = selectByRowId.get(row_id)
        if (row && isLow) events.ofLowBalance(trusted(row), balance, min_balance)
      })
    },
    deleteRelayer: async (id) =>
      writeCached(() => {
        const row = select.get(id)
        if (!row) return 'missing'
        if (unfinished.get({ row_id: row.row_id })) return 'in_use'
        remove.run(row.row_id)
        remember.run(row.row_id, id)
        return 'deleted'
      }),
  }
}
