import type { Signer } from '../../../generated/openapi.ts'
import type { SignerRow } from '../../core/rows.ts'
import type { SealedRow } from '../rights-tables.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { lister } from './lists.ts'
import { sealedColumns } from './rights-tables.ts'

type Signers = Pick<Store, 'createSigner' | 'getSigner' | 'getSecret' | 'listSigners' | 'deleteSigner'>

/** The secret is in no column list but `getSecret`'s. */
export function signers({ db, writeCached, rights }: Connection): Signers {
  const select = db.prepare<[string], Signer>('SELECT id, type, address FROM signers WHERE id = ?')
  const selectSecret = db.prepare<[string], SealedRow & Pick<SignerRow, 'id' | 'type' | 'secret'>>(
    `SELECT id, type, secret, ${sealedColumns('signers')} FROM signers WHERE id = ?`,
  )
  const insert = db.prepare<[SignerRow]>(`
    INSERT INTO signers (id, type, address, secret) VALUES ($id, $type, $address, $secret)
    ON CONFLICT DO NOTHING`)
  const used = db.prepare('SELECT 1 FROM relayers WHERE signer_id = ?')
  const remove = db.prepare('DELETE FROM signers WHERE id = ?')

  return {
    createSigner: async (signer) => writeCached(() => insert.run(signer).changes === 1),
    getSigner: async (id) => select.get(id),
    async getSecret(id) {
      const row = selectSecret.get(id)
      return row && rights.require('signers', row, id)
    },
    listSigners: lister(db, 'signers', 'id, type, address', (row: Signer) => row),
    deleteSigner: async (id) =>
      writeCached(() => {
        if (used.get(id)) return 'in_use'
        return remove.run(id).changes === 1 ? 'deleted' : 'missing'
      }),
  }
}
