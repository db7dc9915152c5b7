import type { Signer } from '../../../generated/openapi.ts'
import {
  type Deletion,
  type Listing,
  type LoginTrust,
  maxUsers,
  type PageRequest,
  type PendingAuditEntry,
  type SignerRow,
} from '../../domain/rows.ts'
import { type Database, type StoredSeal, sql, type TableList, usersOf } from './database.ts'
import { sealedColumns } from './sealed-rows.ts'

const selectSigner = sql<Signer>('SELECT id, type, address, created_at FROM signers WHERE id = $id')
const selectSecret = sql<StoredSeal & Pick<SignerRow, 'id' | 'type' | 'secret'>>(
  (engine) => `SELECT id, type, secret, ${sealedColumns(engine, 'signers')} FROM signers WHERE id = $id`,
)
const insertSignerRow = sql<Signer & { row_id: number }>(`
  INSERT INTO signers (id, type, address, secret) VALUES ($id, $type, $address, $secret)
  ON CONFLICT DO NOTHING RETURNING row_id, id, type, address, created_at`)
const rowIdOfSigner = sql<{ row_id: number }>('SELECT row_id FROM signers WHERE id = $id')
const used = sql<{ id: string }>(`SELECT id FROM relayers WHERE signer_id = $id ORDER BY id LIMIT ${maxUsers}`)
const deleteSignerRow = sql('DELETE FROM signers WHERE row_id = $row_id')

export const createSigner = (
  database: Database,
  { id, type, address, secret }: SignerRow,
  auditEntry?: PendingAuditEntry,
): Promise<Signer | undefined> =>
  database.writeCached(async (dbTransaction) => {
    const found = await dbTransaction.one(insertSignerRow, { id, type, address, secret })
    if (!found) return undefined
    const { row_id: rowId, ...signer } = found
    database.rights.inserted(dbTransaction, 'signers', rowId)
    return signer
  }, auditEntry)

export const getSigner = (database: Database, id: string): Promise<Signer | undefined> =>
  database.read.one(selectSigner, { id })

export const getSecret = (database: Database, id: string): Promise<Pick<SignerRow, 'type' | 'secret'> | undefined> =>
  database.rights.require('signers', () => database.read.one(selectSecret, { id }), id)

const signerList: TableList<Signer, Signer> = {
  table: 'signers',
  columns: 'id, type, address, created_at',
  read: (row) => row,
}

export const listSigners = (database: Database, slice: PageRequest): Promise<Listing<Signer>> =>
  database.list(signerList, slice)

export const deleteSigner = (database: Database, id: string, auditEntry?: PendingAuditEntry): Promise<Deletion> =>
  database.writeCached(async (dbTransaction) => {
    const row = await dbTransaction.one(rowIdOfSigner, { id })
    if (!row) return 'missing'
    const users = await usersOf(dbTransaction, 'relayers', used, { id })
    if (users) return users
    await database.rights.deleted(dbTransaction, 'signers', row.row_id)
    await dbTransaction.run(deleteSignerRow, row)
    return 'deleted'
  }, auditEntry)

/** A login that is not ended after this time was cut off: its outcome is unknown. */
const loginMs = 10_000

interface StoredSigner {
  accepted: Uint8Array | null
  tried: Uint8Array | null
  state: 'trying' | 'refused' | null
  since: number
}

const selectTokenLogins = sql<StoredSigner>(
  'SELECT accepted, tried, state, since FROM token_logins WHERE token = $token',
)
const write = sql(`
  INSERT INTO token_logins (token, accepted, tried, state, since) VALUES ($token, $accepted, $tried, $state, $since)
  ON CONFLICT (token) DO UPDATE SET accepted = excluded.accepted, tried = excluded.tried, state = excluded.state,
    since = excluded.since`)

const isSame = (a: Uint8Array | null | undefined, b: Uint8Array): boolean => a != null && Buffer.compare(a, b) === 0

/**
 * Whether a PIN may be tried on a PKCS #11 token; `busy`: another process tries one. `pin`: its MAC. A PIN that the token has accepted
 * may be tried always; otherwise a `caller` may try one until the token refuses one, an `operator` each once, and an `administrator` any.
 */
export const beginLogin = (
  database: Database,
  token: string,
  pin: Uint8Array,
  trust: LoginTrust,
): Promise<'try' | 'busy' | 'refused'> =>
  database.writeAlone(async (dbTransaction) => {
    const row = await dbTransaction.one(selectTokenLogins, { token })
    if (isSame(row?.accepted, pin)) return 'try'
    if (row?.state === 'trying' && database.effects.now() - row.since < loginMs) return 'busy'
    const isAgain = row?.state === 'refused' && isSame(row.tried, pin)
    const mayTry = row == null || row.state === null || trust === 'administrator' || (trust === 'operator' && !isAgain)
    if (!mayTry) return 'refused'
    const accepted = row?.accepted ?? null
    await dbTransaction.run(write, { token, accepted, tried: pin, state: 'trying', since: database.effects.now() })
    return 'try'
  })

/** `unknown`: the token did not see the PIN. */
export const endLogin = (
  database: Database,
  token: string,
  pin: Uint8Array,
  outcome: 'accepted' | 'refused' | 'unknown',
): Promise<void> =>
  database.writeAlone(async (dbTransaction) => {
    const row = await dbTransaction.one(selectTokenLogins, { token })
    const isAccepted = isSame(row?.accepted, pin)
    if (outcome === 'accepted') {
      if (isAccepted && row?.state === null) return
      return void (await dbTransaction.run(write, {
        token,
        accepted: pin,
        tried: null,
        state: null,
        since: database.effects.now(),
      }))
    }
    const accepted = isAccepted ? null : (row?.accepted ?? null)
    if (outcome === 'refused')
      return void (await dbTransaction.run(write, {
        token,
        accepted,
        tried: pin,
        state: 'refused',
        since: database.effects.now(),
      }))
    // The token did not see the PIN.
    if (row?.state !== 'trying' || !isSame(row.tried, pin)) return
    await dbTransaction.run(write, {
      token,
      accepted: row.accepted,
      tried: null,
      state: null,
      since: database.effects.now(),
    })
  })
