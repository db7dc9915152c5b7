import { createRequire } from 'node:module'
import type { Handle, PKCS11 } from 'pkcs11js'
import {
  pinFaults,
  type TokenAnswer,
  type TokenFault,
  type TokenKey,
  type TokenLogin,
  type TokenRequest,
  type TokenStart,
} from './pkcs11-messages.ts'

/*
 * A process of its own for one token. The calls of a module block, and may hang or crash; here they do not affect the service. The first
 * message opens the token. After a fault of the token the service ends this process, and starts another one.
 */

/** Each signature in flight needs a session of its own. A token may permit fewer. */
const maxSessions = 64
/** These faults last until the key or the token is changed. */
const refusals = new Set([
  ...pinFaults,
  'CKR_MECHANISM_INVALID',
  'CKR_KEY_FUNCTION_NOT_PERMITTED',
  'CKR_KEY_TYPE_INCONSISTENT',
  'CKR_FUNCTION_NOT_SUPPORTED',
])
/** A token that has just signed is busy, not broken (AWS CloudHSM's user guide, "HSM throttling"). */
const busy = new Set(['CKR_FUNCTION_FAILED', 'CKR_OPERATION_ACTIVE'])
const busyMs = 10_000
/** CKA_EC_PARAMS of secp256k1: its object identifier 1.3.132.0.10 in DER (SEC 2, section 2.7.1). */
const secp256k1 = '06052b8104000a'

class Refusal extends Error {}

interface OpenKey {
  private_key: Handle
  point: Uint8Array
}

const pkcs11js: typeof import('pkcs11js') = createRequire(import.meta.url)('pkcs11js')
let token: { module: PKCS11; slot: Handle } | undefined
/** Whether threads of this process may use the module at the same time. */
let isThreaded = false
const keys = new Map<string, OpenKey>()
const idle: Handle[] = []
const waiting: ((session: Handle) => void)[] = []
/** A thread reads them, and pkcs11js holds no reference to them. */
const inputs = new Set<Buffer>()
let sessions = 0
/** When a signature was made last. */
let signedAt = Number.NEGATIVE_INFINITY

process.on('disconnect', () => process.exit(0))
process.on('message', (message: TokenStart | TokenRequest) => {
  void answer(message)
})

async function answer(message: TokenStart | TokenRequest): Promise<void> {
  const id = 'login' in message ? 0 : message.id
  try {
    if ('login' in message) {
      token = openToken(message.login)
      return reply({ id, open: true })
    }
    if (!token) throw new Error('no login')
    const { module, slot } = token
    const open = openKey(module, slot, message.key)
    reply(message.digest ? { id, rs: await sign(module, slot, open, message.digest) } : { id, point: open.point })
  } catch (error) {
    const fault = (error as Error).message
    const kind = kindOf(fault, error instanceof Refusal)
    reply({ id, fault, kind, restart: kind === 'unavailable' || !token })
  }
}

function kindOf(fault: string, isRefusal: boolean): TokenFault['kind'] {
  if (isRefusal || refusals.has(fault)) return 'refused'
  return busy.has(fault) && performance.now() - signedAt < busyMs ? 'throttled' : 'unavailable'
}

const reply = (message: TokenAnswer): void => void process.send?.(message)

function openToken({ module: file, token_label, pin }: TokenLogin): { module: PKCS11; slot: Handle } {
  const module = new pkcs11js.PKCS11()
  try {
    module.load(file)
  } catch (error) {
    throw new Refusal(`the module does not load: ${(error as Error).message}`)
  }
  isThreaded = initialize(module)
  const slots = module
    .C_GetSlotList(true)
    .filter((slot) => module.C_GetTokenInfo(slot).label.replace(/[\s\0]+$/, '') === token_label)
  const [slot] = slots
  if (slots.length > 1) throw new Refusal('more than one token has this label')
  if (!slot) throw new Refusal('no token has this label')
  const session = openSession(module, slot)
  module.C_Login(session, pkcs11js.CKU_USER, pin)
  sessions = 1
  idle.push(session)
  return { module, slot }
}

/**
 * Signatures run in threads, so the module must lock. A module that cannot is used by this thread alone: PKCS #11 3.0, section 5.4,
 * forbids threads without the flag. Returns whether the module locks.
 */
function initialize(module: PKCS11): boolean {
  try {
    module.C_Initialize({ flags: pkcs11js.CKF_OS_LOCKING_OK })
    return true
  } catch (error) {
    if (!['CKR_CANT_LOCK', 'CKR_ARGUMENTS_BAD'].includes((error as Error).message)) throw error
    module.C_Initialize()
    return false
  }
}

function openSession(module: PKCS11, slot: Handle): Handle {
  return module.C_OpenSession(slot, pkcs11js.CKF_SERIAL_SESSION)
}

function openKey(module: PKCS11, slot: Handle, key: TokenKey): OpenKey {
  const name = JSON.stringify([key.key_label, key.key_id])
  const known = keys.get(name)
  if (known) return known
  const session = openSession(module, slot)
  try {
    const privateKey = findOne(module, session, pkcs11js.CKO_PRIVATE_KEY, key)
    const publicKey = findOne(module, session, pkcs11js.CKO_PUBLIC_KEY, key)
    const [params, encoded] = module.C_GetAttributeValue(session, publicKey, [
      { type: pkcs11js.CKA_EC_PARAMS },
      { type: pkcs11js.CKA_EC_POINT },
    ])
    if (Buffer.from((params?.value as Buffer) ?? '').toString('hex') !== secp256k1) {
      throw new Refusal('the key is not on the curve secp256k1')
    }
    const opened = { private_key: privateKey, point: pointOf(encoded?.value as Buffer) }
    keys.set(name, opened)
    return opened
  } finally {
    module.C_CloseSession(session)
  }
}

function findOne(module: PKCS11, session: Handle, type: number, { key_label, key_id }: TokenKey): Handle {
  module.C_FindObjectsInit(session, [
    { type: pkcs11js.CKA_CLASS, value: type },
    { type: pkcs11js.CKA_KEY_TYPE, value: pkcs11js.CKK_EC },
    ...(key_label === undefined ? [] : [{ type: pkcs11js.CKA_LABEL, value: key_label }]),
    ...(key_id === undefined ? [] : [{ type: pkcs11js.CKA_ID, value: Buffer.from(key_id, 'hex') }]),
  ])
  const found = module.C_FindObjects(session, 2)
  module.C_FindObjectsFinal(session)
  const kind = type === pkcs11js.CKO_PRIVATE_KEY ? 'private' : 'public'
  if (found.length > 1) throw new Refusal(`more than one ${kind} EC key has this label and id`)
  if (!found[0]) throw new Refusal(`no ${kind} EC key has this label and id`)
  return found[0]
}

/** The point is wrapped in an OCTET STRING (PKCS #11 3.0, section 2.3.3); some older modules return it bare. */
function pointOf(encoded: Buffer): Uint8Array {
  const point = encoded[0] === 0x04 && encoded[1] === 65 && encoded.length === 67 ? encoded.subarray(2) : encoded
  if (point[0] !== 4 || point.length !== 65) throw new Refusal('the public key is not an uncompressed point')
  return point
}

async function sign(module: PKCS11, slot: Handle, { private_key }: OpenKey, digest: Uint8Array): Promise<Uint8Array> {
  const session = await takeSession(module, slot)
  const input = Buffer.from(digest)
  inputs.add(input)
  try {
    module.C_SignInit(session, { mechanism: pkcs11js.CKM_ECDSA }, private_key)
    const output = Buffer.alloc(64)
    const rs = isThreaded ? await module.C_SignAsync(session, input, output) : module.C_Sign(session, input, output)
    signedAt = performance.now()
    return rs
  } finally {
    inputs.delete(input)
    const next = waiting.shift()
    if (next) next(session)
    else idle.push(session)
  }
}

async function takeSession(module: PKCS11, slot: Handle): Promise<Handle> {
  const session = idle.pop()
  if (session) return session
  if (sessions < maxSessions) {
    try {
      const opened = openSession(module, slot)
      sessions += 1
      return opened
    } catch (error) {
      if ((error as Error).message !== 'CKR_SESSION_COUNT') throw error
    }
  }
  return new Promise((resolve) => waiting.push(resolve))
}
