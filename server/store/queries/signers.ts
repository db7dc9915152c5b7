import type { Signer } from '../../../generated/openapi.ts'
import type { SignerRow } from '../../domain/rows.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import type { Database } from './database.ts'
import { type StoredSeal, sealedColumns } from './row-mac.ts'
import { sql } from './session.ts'

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

/** A login that is not ended after this time was cut off: its outcome is unknown. */
const loginMs = 10_000

interface Row {
  accepted: Uint8Array | null
  tried: Uint8Array | null
  state: 'trying' | 'refused' | null
  since: number
}

const selectTokenLogins = sql<Row>('SELECT accepted, tried, state, since FROM token_logins WHERE token = $token')
const write = sql(`
  INSERT INTO token_logins (token, accepted, tried, state, since) VALUES ($token, $accepted, $tried, $state, $since)
  ON CONFLICT (token) DO UPDATE SET accepted = excluded.accepted, tried = excluded.tried, state = excluded.state,
    since = excluded.since`)

const isSame = (a: Uint8Array | null | undefined, b: Uint8Array): boolean => a != null && Buffer.compare(a, b) === 0

/** The logins to PKCS #11 tokens: keys/providers/token-logins.ts. */
export function tokenLogins(
  { writeAlone }: Database,
  { now }: StoreDependencies,
): Pick<Store, 'beginLogin' | 'endLogin'> {
  return {
    beginLogin: (token, pin, trust) =>
      writeAlone(async (transaction) => {
        const row = await transaction.one(selectTokenLogins, { token })
        if (isSame(row?.accepted, pin)) return 'try'
        if (row?.state === 'trying' && now() - row.since < loginMs) return 'busy'
        const isAgain = row?.state === 'refused' && isSame(row.tried, pin)
        const mayTry =
          row == null || row.state === null || trust === 'administrator' || (trust === 'operator' && !isAgain)
        if (!mayTry) return 'refused'
        const accepted = row?.accepted ?? null
        await transaction.run(write, { token, accepted, tried: pin, state: 'trying', since: now() })
        return 'try'
      }),
    endLogin: (token, pin, outcome) =>
      writeAlone(async (transaction) => {
        const row = await transaction.one(selectTokenLogins, { token })
        const isAccepted = isSame(row?.accepted, pin)
        if (outcome === 'accepted') {
          if (isAccepted && row?.state === null) return
          return void (await transaction.run(write, { token, accepted: pin, tried: null, state: null, since: now() }))
        }
        const accepted = isAccepted ? null : (row?.accepted ?? null)
        if (outcome === 'refused')
          return void (await transaction.run(write, { token, accepted, tried: pin, state: 'refused', since: now() }))
        // The token did not see the PIN.
        if (row?.state !== 'trying' || !isSame(row.tried, pin)) return
        await transaction.run(write, { token, accepted: row.accepted, tried: null, state: null, since: now() })
      }),
  }
}
