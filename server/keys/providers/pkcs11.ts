import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Pkcs11Config } from '../../../generated/openapi.ts'
import type { LoginTrust } from '../../domain/rows.ts'
import type { Store } from '../../store/store.ts'
import { KeyServiceFault, loadPackage, type RemoteKey } from '../key-service.ts'
import { addressOf } from '../secp256k1.ts'
import type { Vault } from '../secret-encryption.ts'
import { pinFaults, type TokenAnswer, type TokenFault, type TokenKey, type TokenLogin } from './pkcs11-messages.ts'

export interface Pkcs11Settings {
  /** The paths of the modules that may be loaded. */
  modules: string[]
  /** The PIN of signers without one. */
  pin: string | undefined
  /** The names of further variables of the environment that modules get. */
  environment: string[]
  /** The ids of the user and of the group of the modules' processes, when the service runs as root. */
  user: [uid: number, gid: number]
}

interface TokenProcess {
  child: ChildProcess
  calls: Map<number, (answer: TokenAnswer | TokenFault) => void>
  /** The number of answers so far. */
  answers: number
}

const maxTokens = 16
/** A call may have less time than this when its request waited. */
const hangMs = 4_000
/** Signatures wait for a network HSM in threads of the process, not in its event loop. */
const threads = '64'
const gone: TokenFault = { fault: 'the process of the token ended', kind: 'unavailable', restart: true }
const needsFiles = (uid: number) =>
  ` before its first answer: it runs as user ${uid} (setting PKCS11_USER), who must be able to read the files of the service and the module`
const program = join(import.meta.dirname, 'pkcs11-process.ts')

/** The only variables that a module gets, apart from those that the operator names: none of them is a secret. */
const passed =
  /^(?:PATH|HOME|TMPDIR|TZ|LANG|LC_[A-Z]+|LD_LIBRARY_PATH|SOFTHSM2_CONF|ChrystokiConfigurationPath|YUBIHSM_PKCS11_CONF|NFAST_HOME)$/

/** Keys in PKCS #11 tokens (OASIS PKCS #11 3.0: C_FindObjects, C_Sign with CKM_ECDSA). Each token has a process of its own. */
export class Pkcs11 {
  readonly #settings: Pkcs11Settings
  readonly #logins: TokenLogins
  /** By token and PIN. */
  readonly #processes = new Map<string, Promise<TokenProcess>>()
  readonly #children = new Set<ChildProcess>()
  #lastId = 0
  #isStopped = false

  constructor(settings: Pkcs11Settings, logins: TokenLogins) {
    this.#settings = settings
    this.#logins = logins
  }

  /** `trust`: of whoever gave the PIN that is in `config`. */
  key(config: Pkcs11Config, trust: LoginTrust): RemoteKey {
    return {
      publicKey: async (signal) => {
        const answer = await this.#call(config, trust, undefined, signal)
        if ('point' in answer) return { address: addressOf(answer.point) }
        throw new KeyServiceFault('wrong', 'the token did not answer with a public key')
      },
      sign: async (digest, signal) => {
        const answer = await this.#call(config, trust, digest, signal)
        if ('rs' in answer) return { rs: answer.rs }
        throw new KeyServiceFault('wrong', 'the token did not answer with a signature')
      },
    }
  }

  /** Ends the processes. */
  stop(): void {
    this.#isStopped = true
    for (const child of this.#children) child.kill('SIGKILL')
  }

  #loginOf({ module = this.#settings.modules[0], token_label, pin = this.#settings.pin }: Pkcs11Config): TokenLogin {
    if (module === undefined || !this.#settings.modules.includes(module)) {
      throw new KeyServiceFault('refused', 'the module must be listed in the setting PKCS11_MODULES')
    }
    if (pin === undefined) {
      throw new KeyServiceFault('refused', 'a PIN must be given, or set as PKCS11_PIN or PKCS11_PIN_FILE')
    }
    return { module, token_label, pin }
  }

  /** The process of a token, after its login. Concurrent calls share it. */
  #opened(login: TokenLogin, trust: LoginTrust, signal: AbortSignal): Promise<TokenProcess> {
    const name = JSON.stringify(login)
    const known = this.#processes.get(name)
    if (known) return known
    if (this.#processes.size >= maxTokens)
      throw new KeyServiceFault('refused', `more than ${maxTokens} tokens are in use`)
    const forget = () => void (this.#processes.get(name) === opening && this.#processes.delete(name))
    const opening = this.#open(login, trust, signal, forget)
    this.#processes.set(name, opening)
    opening.catch(forget)
    return opening
  }

  async #open(login: TokenLogin, trust: LoginTrust, signal: AbortSignal, ended: () => void) {
    await this.#logins.begin(login, trust, signal)
    const token = this.#start(ended)
    try {
      const answer = await this.#ask(token, { login }, 0, signal)
      // A process that ends or hangs while it logs in may have used the PIN: then the store's entry stays as it is.
      if ('id' in answer) await this.#logins.end(login, outcomeOf(answer))
      if (!('fault' in answer)) return token
      throw new KeyServiceFault(answer.kind, `the token does not open: ${answer.fault}`)
    } catch (error) {
      token.child.kill('SIGKILL')
      throw error
    }
  }

  #start(ended: () => void): TokenProcess {
    const environment = Object.fromEntries(
      Object.entries(process.env).filter(([key]) => passed.test(key) || this.#settings.environment.includes(key)),
    )
    const [uid, gid] = this.#settings.user
    const isRoot = process.getuid?.() === 0
    const child = fork(program, [], {
      env: { ...environment, UV_THREADPOOL_SIZE: threads },
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [],
      // The module is native code: root would give it every file, and the memory of every process.
      ...(isRoot && { uid, gid, cwd: '/' }),
    })
    this.#children.add(child)
    const started: TokenProcess = { child, calls: new Map(), answers: 0 }
    const end = () => {
      this.#children.delete(child)
      ended()
      const fault = { ...gone, fault: `${gone.fault}${isRoot && started.answers === 0 ? needsFiles(uid) : ''}` }
      for (const settle of started.calls.values()) settle(fault)
      started.calls.clear()
    }
    child.on('message', (answer: TokenAnswer) => {
      started.answers += 1
      started.calls.get(answer.id)?.(answer)
      started.calls.delete(answer.id)
    })
    child.once('error', end)
    child.once('exit', end)
    // The service ends without waiting for its tokens.
    child.unref()
    child.channel?.unref()
    return started
  }

  async #ask(token: TokenProcess, message: object, id: number, signal: AbortSignal) {
    const { answers } = token
    const began = performance.now()
    const answer = await new Promise<TokenAnswer | TokenFault>((resolve) => {
      token.calls.set(id, resolve)
      // A process that answers other calls does not hang.
      const late = () => {
        const hangs = token.answers === answers && performance.now() - began >= hangMs
        resolve({ fault: 'no answer in time', kind: 'unavailable', restart: hangs })
      }
      signal.addEventListener('abort', late, { once: true })
      token.child.send(message, (error) => {
        if (error) resolve(gone)
      })
    })
    token.calls.delete(id)
    return answer
  }

  async #call(
    config: Pkcs11Config,
    trust: LoginTrust,
    digest: Uint8Array | undefined,
    signal: AbortSignal,
  ): Promise<Exclude<TokenAnswer, TokenFault>> {
    await loadPackage('pkcs11js', () => import('pkcs11js'))
    if (this.#isStopped) throw new KeyServiceFault('unavailable', 'the service stops')
    const login = this.#loginOf(config)
    const token = await this.#opened(login, config.pin === undefined ? 'operator' : trust, signal)
    this.#lastId += 1
    const id = this.#lastId
    const { key_label, key_id } = config
    const key: TokenKey = { ...(key_label !== undefined && { key_label }), ...(key_id !== undefined && { key_id }) }
    const answer = await this.#ask(token, { id, key, ...(digest && { digest }) }, id, signal)
    if (!('fault' in answer)) return answer
    if (answer.restart) token.child.kill('SIGKILL')
    throw new KeyServiceFault(answer.kind, `the token does not sign: ${answer.fault}`)
  }
}

/** A login that fails for another reason than the PIN has not used it. */
function outcomeOf(answer: TokenAnswer): 'accepted' | 'refused' | 'unknown' {
  if (!('fault' in answer)) return 'accepted'
  return pinFaults.has(answer.fault) ? 'refused' : 'unknown'
}

/** The pause before another look at the login of another process. */
const lookMs = 100

/**
 * The logins to PKCS #11 tokens. A token locks after a few wrong PINs, whoever gives them, so the store remembers the last PIN that a token
 * accepted and the one that it refused (as MACs), for all processes and servers.
 */
export class TokenLogins {
  readonly #store: Pick<Store, 'beginLogin' | 'endLogin'>
  readonly #vault: Pick<Vault, 'mac'>

  constructor(store: Pick<Store, 'beginLogin' | 'endLogin'>, vault: Pick<Vault, 'mac'>) {
    this.#store = store
    this.#vault = vault
  }

  /**
   * Resolves when the PIN may be tried. It must then be ended. Rejects with KeyServiceFault when the token has refused a PIN since it
   * last accepted one, or, for an operator's PIN, this very PIN.
   */
  async begin(login: TokenLogin, trust: LoginTrust, signal: AbortSignal): Promise<void> {
    for (;;) {
      const answer = await this.#store.beginLogin(this.#tokenOf(login), this.#macOf(login), trust)
      if (answer === 'try') return
      if (answer === 'refused') throw new KeyServiceFault('refused', refused)
      if (signal.aborted) throw new KeyServiceFault('unavailable', 'another process logs in to the token')
      await pause(lookMs)
    }
  }

  /** `unknown`: it failed before the token saw the PIN. */
  end(login: TokenLogin, outcome: 'accepted' | 'refused' | 'unknown'): Promise<void> {
    return this.#store.endLogin(this.#tokenOf(login), this.#macOf(login), outcome)
  }

  #tokenOf({ module, token_label }: TokenLogin) {
    return JSON.stringify([module, token_label])
  }

  #macOf(login: TokenLogin) {
    return this.#vault.mac(`pin ${JSON.stringify([login.module, login.token_label, login.pin])}`)
  }
}

const refused =
  'the token refused a PIN, so no other one is tried: a token locks after a few wrong PINs. An API key with all rights may try again'
