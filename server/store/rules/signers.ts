import type { Signer } from '../../../generated/openapi.ts'
import type { SignerRow } from '../../core/rows.ts'
import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { type StoredSeal, sealedColumns } from './rights-rows.ts'
import { sql } from './statement.ts'

const select = sql<Signer>('SELECT id, type, address FROM signers WHERE id = $id')
const selectSecret = sql<StoredSeal & Pick<SignerRow, 'id' | 'type' | 'secret'>>(
  (engine) => `SELECT id, type, secret, ${sealedColumns(engine, 'signers')} FROM signers WHERE id = $id`,
)
const insert = sql<{ row_id: number }>(`
  INSERT INTO signers (id, type, address, secret) VALUES ($id, $type, $address, $secret)
  ON CONFLICT DO NOTHING RETURNING row_id`)
const rowIdOf = sql<{ row_id: number }>('SELECT row_id FROM signers WHERE id = $id')
const used = sql('SELECT 1 FROM relayers WHERE signer_id = $id LIMIT 1')
const remove = sql('DELETE FROM signers WHERE row_id = $row_id')

type Signers = Pick<Store, 'createSigner' | 'getSigner' | 'getSecret' | 'listSigners' | 'deleteSigner'>

/** The secret is in no column list but `getSecret`'s. */
export function signers({ read, lister, writeCached, rights }: Database): Signers {
  return {
    createSigner: ({ id, type, address, secret }, auditEntry) =>
      writeCached(async (transaction) => {
        const row = await transaction.one(insert, { id, type, address, secret })
        if (row) rights.inserted(transaction, 'signers', row.row_id)
        return row !== undefined
      }, auditEntry),
    getSigner: (id) => read.one(select, { id }),
    getSecret: (id) => rights.require('signers', () => read.one(selectSecret, { id }), id),
    listSigners: lister('signers', 'id, type, address', (row: Signer) => row),
    deleteSigner: (id, auditEntry) =>
      writeCached(async (transaction) => {
        const row = await transaction.one(rowIdOf, { id })
        if (!row) return 'missing'
        if (await transaction.one(used, { id })) return 'in_use'
        await rights.deleted(transaction, 'signers', row.row_id)
        await transaction.run(remove, row)
        return 'deleted'
      }, auditEntry),
  }
}
