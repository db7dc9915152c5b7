import type {
  CreateSignerRequest,
  GeneratedSignerRequest,
  KeystoreSignerRequest,
  PlainSignerRequest,
  Signer,
} from '../../generated/openapi.ts'
import { badRequest, conflict, DomainError, inputFault } from '../domain/errors.ts'
import type { Caller } from '../domain/operation.ts'
import type { PendingAuditEntry, SignerRow } from '../domain/rows.ts'
import { generateKey } from '../keys/keyring.ts'
import { openKeystore } from '../keys/keystore.ts'
import type { ServicesContext } from './context.ts'
import { isDeleted } from './deletions.ts'

type SignerContext = Pick<ServicesContext, 'store' | 'makeId' | 'keyring' | 'keyServices'>
type LocalRequest = PlainSignerRequest | KeystoreSignerRequest | GeneratedSignerRequest

/** Encrypts a key, or admits one in a key service. Throws DomainError (400, 409, 422, 503). */
export async function createSigner(
  context: SignerContext,
  caller: Caller,
  body: CreateSignerRequest,
  auditEntry: PendingAuditEntry,
): Promise<Signer> {
  const { store, makeId } = context
  const id = body.id ?? makeId()
  // No key service is called for an id that is taken. The commit checks again.
  if (await store.getSigner(id)) throw taken()
  const signer = isLocal(body) ? await localRow(id, body, context) : await remoteRow(id, body, context, caller)
  auditEntry.subject = id
  const created = await store.createSigner(signer, auditEntry)
  if (!created) throw taken()
  return created
}

/** Whether there was one. Throws DomainError (409). */
export async function deleteSigner(
  { store }: SignerContext,
  id: string,
  auditEntry: PendingAuditEntry,
): Promise<boolean> {
  const outcome = await store.deleteSigner(id, auditEntry)
  return isDeleted('signer_id', outcome)
}

const refusals = {
  malformed: badRequest(
    ['config', 'keystore'],
    'must be a V3 JSON keystore (Web3 Secret Storage, "version": 3) with scrypt or pbkdf2',
  ),
  wrong_passphrase: badRequest(['config', 'passphrase'], 'must be the passphrase of the keystore; decryption failed'),
  other_address: badRequest(['config', 'keystore', 'address'], 'is not the address of the key in the keystore'),
  busy: new DomainError('unavailable', [
    inputFault(['config', 'keystore'], 'too many keystores are being decrypted; try again in a few seconds'),
  ]),
  timed_out: new DomainError('unavailable', [
    inputFault(['config', 'keystore'], 'the key derivation reached its time limit; try again later'),
  ]),
}

const taken = () => conflict('already_exists', ['id'], 'a signer with this id already exists')

const isLocal = (body: CreateSignerRequest): body is LocalRequest =>
  body.type === 'plain' || body.type === 'keystore' || body.type === 'generated'

async function remoteRow(
  signerId: string,
  { id: _, ...asked }: Exclude<CreateSignerRequest, LocalRequest>,
  { keyServices, keyring }: SignerContext,
  caller: Caller,
): Promise<SignerRow> {
  const { address, reference } = await keyServices.admit(
    asked,
    caller.roles.has('administer') ? 'administrator' : 'caller',
  )
  return keyring.encloseReference(signerId, reference, address)
}

async function localRow(id: string, body: LocalRequest, { keyring }: SignerContext): Promise<SignerRow> {
  const key = await keyOf(body)
  const signer = keyring.enclose(id, key)
  key.fill(0)
  if (signer) return signer
  throw badRequest(
    ['config'],
    'must contain a secp256k1 private key: 32 bytes, above 0 and below the order of the curve',
  )
}

async function keyOf(body: LocalRequest): Promise<Uint8Array> {
  switch (body.type) {
    case 'generated':
      return generateKey()
    case 'plain':
      return Buffer.from(body.config.key.replace(/^0x/, ''), 'hex')
    case 'keystore': {
      const opened = await openKeystore(body.config.keystore, body.config.passphrase)
      if ('key' in opened) return opened.key
      if (opened.refused === 'faulty') throw badRequest(['config', 'keystore', ...opened.place], opened.reason)
      throw refusals[opened.refused]
    }
  }
}
