import type { LookupFunction } from 'node:net'
import { DomainError } from '../domain/errors.ts'
import { printable } from '../lib/printable.ts'
import type { TargetCheck } from '../lib/ssrf-guard.ts'
import { tlsFault } from '../lib/tls-fault.ts'

/** The guard of addresses for calls to key services whose address a caller chose. */
export interface Outbound {
  lookup: LookupFunction | undefined
  checkTarget: TargetCheck
}

/** One key in a key service. Each type of signer implements this. Both calls reject with KeyServiceFault. */
export interface RemoteKey {
  publicKey(signal: AbortSignal): Promise<RemotePublicKey>
  /** Signs 32 bytes as they are. `preimage`: the bytes that have this keccak-256, for a key service that hashes. */
  sign(digest: Uint8Array, signal: AbortSignal, preimage: () => Uint8Array): Promise<RemoteSignature>
}

/** A key in a key service that encrypts a few bytes. Both calls reject with KeyServiceFault. */
export interface EncryptionKey {
  encrypt(plain: Uint8Array, signal: AbortSignal): Promise<Uint8Array>
  decrypt(encrypted: Uint8Array, signal: AbortSignal): Promise<Uint8Array>
}

/**
 * Authenticated with every encrypted master key: the key service decrypts nothing else for this service, and its permissions can be
 * limited to it.
 */
export const purpose = { application: 'evm-relayer-service', purpose: 'master-key' }

/** The purpose as additional authenticated data, where those are bytes. */
export const purposeBytes: Uint8Array = Buffer.from('application=evm-relayer-service,purpose=master-key')

interface RemotePublicKey {
  /** Lower case, with 0x. */
  address: string
  /** The version of the key that this is, where the configuration may leave it open. */
  version?: string
}

interface RemoteSignature {
  /** r and s, 32 bytes each; s may be high. */
  rs: Uint8Array
  /** The key service's own id of the request, for its audit log. */
  request_id?: string
}

/**
 * `throttled`: too many requests; the same request succeeds later. `unavailable`: no answer, or a failure of the key service itself.
 * `refused`: the key service refuses (permission, state of the key, credentials). `wrong`: the answer is not a valid signature by
 * the key. `missing`: the package of the type is not installed.
 */
export type FaultKind = 'throttled' | 'unavailable' | 'refused' | 'wrong' | 'missing'

/** A call to a key service failed. `message`: for every caller. `detail`: for the operator, as the key service worded it. */
export class KeyServiceFault extends Error {
  readonly kind: FaultKind
  readonly detail: string
  /** The key service's own id of the request. */
  readonly request_id: string | undefined

  constructor(kind: FaultKind, message: string, detail = '', requestId?: string) {
    super(printable(message))
    this.name = 'KeyServiceFault'
    this.kind = kind
    this.detail = printable(detail.slice(0, maxDetailLength))
    this.request_id = requestId
  }
}

/** 503: the key service does not sign now. */
export class KeyServiceUnavailable extends DomainError {
  /** The fault of the last call; undefined when there was none. */
  readonly fault: KeyServiceFault | undefined

  constructor(reason: string, retryAfterMs: number, fault?: KeyServiceFault) {
    const data = { retry_after_s: Math.max(1, Math.ceil(retryAfterMs / 1_000)) }
    super('unavailable', [{ of: 'signer', field: [], message: reason }], data)
    this.fault = fault
  }
}

export const shutDown = 'the service is shutting down'

/** 503: this process signs no more. It says nothing about the key service. */
export class KeyServicesStopped extends KeyServiceUnavailable {
  constructor(fault?: KeyServiceFault) {
    super(shutDown, 1_000, fault)
  }
}

/** 422: the key service has no way to sign this content. */
export class CannotSign extends DomainError {
  constructor(reason: string) {
    super('key_service_refused', [{ of: 'signer', field: [], message: reason }])
  }
}

/**
 * Whether nobody has a signature after this error. A check refused it, or no answer with one arrived: a signature that was made and lost
 * on the way is in nobody's hands. Only a wrong answer was signed by something.
 */
export const isUnsigned = (error: unknown): boolean =>
  error instanceof DomainError && !(error instanceof KeyServiceUnavailable && error.fault?.kind === 'wrong')

const maxDetailLength = 500

/** By the codes of Node's errors. Each completes a sentence that begins with the name of the key service. */
const connectionErrors: [codes: RegExp, told: string][] = [
  [/^ECONNREFUSED$/, 'refuses connections: nothing listens at its host and port'],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, 'has a host name that cannot be resolved'],
  [/^(?:EHOSTUNREACH|ENETUNREACH)$/, 'cannot be reached: there is no route to its host'],
]

/** The fault of a call that ended without an answer. */
export function unanswered(name: string, error: unknown): KeyServiceFault {
  const { code = '', message } = error as NodeJS.ErrnoException
  // Node reads the PEM texts when it opens a connection.
  if (/^ERR_OSSL_|^ERR_CRYPTO_/.test(code)) {
    return new KeyServiceFault(
      'refused',
      `the client certificate, its key or the certificate of the authority for ${name} is not valid PEM (${code})`,
    )
  }
  const known = connectionErrors.find(([codes]) => codes.test(code))?.[1] ?? tlsFault(code)
  if (known) return new KeyServiceFault('unavailable', `${name} ${known} (${code})`, message)
  const told = code === 'ECONNRESET' ? `${name} closed the connection without an answer` : `no answer from ${name}`
  return new KeyServiceFault('unavailable', told, message)
}

/** The commands that compile packages which have no binaries. */
const compilers: Record<string, string> = { pkcs11js: 'npm run build:pkcs11' }

/** Imports an optional package on its first use. Throws KeyServiceFault (`missing`) when it is not installed, or not compiled. */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const compile = compilers[name]
    const install = [`npm install --save-optional ${name}`, ...(compile === undefined ? [] : [compile])]
    if (code === 'ERR_MODULE_NOT_FOUND') throw missing(name, 'installed', install.join(' && '))
    // Without its binary, or with one for another machine, the package is there and does not load.
    if (compile && (code === 'MODULE_NOT_FOUND' || code === 'ERR_DLOPEN_FAILED'))
      throw missing(name, 'compiled', compile)
    throw error
  }
}

const missing = (name: string, state: string, command: string) =>
  new KeyServiceFault('missing', `the package ${name} is not ${state}: run ${command}, and restart the service`)

/** Callers at the same time share one call and its outcome, until the signal of the first caller aborts. */
export function shared<T>(call: (signal: AbortSignal) => Promise<T>): (signal: AbortSignal) => Promise<T> {
  let current: Promise<T> | undefined
  return (signal) => {
    if (current) return current
    const end = () => {
      if (current === started) current = undefined
    }
    const started = call(signal).finally(end)
    signal.addEventListener('abort', end, { once: true })
    current = started
    return started
  }
}
