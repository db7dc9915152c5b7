import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { Pkcs11Config } from '../../generated/openapi.ts'
import { addressOf } from './curve.ts'
import { KeyServiceFault, type RemoteKey } from './key-service.ts'
import { loadPackage } from './load-package.ts'
import { pinFaults, type TokenAnswer, type TokenFault, type TokenKey, type TokenLogin } from './pkcs11-messages.ts'

export interface Pkcs11Settings {
  /** The paths of the modules that may be loaded. */
  modules: string[]
  /** The PIN of signers without one. */
  pin: string | undefined
  /** The names of further variables of the environment that modules get. */
  environment: string[]
}

export interface Pkcs11 {
  key(config: Pkcs11Config): RemoteKey
  /** Ends the processes. */
  stop(): void
}

interface TokenProcess {
  child: ChildProcess
  calls: Map<number, (answer: TokenAnswer | TokenFault) => void>
  /** The number of answers so far. */
  answers: number
}

const max_tokens = 16
/** A call may have less time than this when its request waited. */
const hang_ms = 4_000
/** Signatures wait for a network HSM in threads of the process, not in its event loop. */
const threads = '64'
const ended: TokenFault = { fault: 'the process of the token ended', kind: 'unavailable', restart: true }
const program = join(import.meta.dirname, 'pkcs11-process.ts')

/** The only variables that a module gets, apart from those that the operator names: none of them is a secret. */
const passed =
  /^(?:PATH|HOME|TMPDIR|TZ|LANG|LC_[A-Z]+|LD_LIBRARY_PATH|SOFTHSM2_CONF|ChrystokiConfigurationPath|YUBIHSM_PKCS11_CONF|NFAST_HOME)$/

/** Keys in PKCS #11 tokens (OASIS PKCS #11 3.0: C_FindObjects, C_Sign with CKM_ECDSA). Each token has a process of its own. */
export function createPkcs11(settings: Pkcs11Settings): Pkcs11 {
  const processes = new Map<string, TokenProcess>()
  /** Tokens lock after a few wrong PINs, so a wrong one is not tried twice. */
  const wrong_pins = new Map<string, string>()
  let last_id = 0
  let isStopped = false

  function loginOf({ module = settings.modules[0], token_label, pin = settings.pin }: Pkcs11Config): TokenLogin {
    if (module === undefined || !settings.modules.includes(module)) {
      throw new KeyServiceFault('refused', 'the module must be listed in the setting PKCS11_MODULES')
    }
    if (pin === undefined) {
      throw new KeyServiceFault('refused', 'a PIN must be given, or set as PKCS11_PIN or PKCS11_PIN_FILE')
    }
    return { module, token_label, pin }
  }

  function start(name: string, login: TokenLogin): TokenProcess {
    const known = processes.get(name)
    if (known) return known
    if (processes.size >= max_tokens) throw new KeyServiceFault('refused', `more than ${max_tokens} tokens are in use`)
    const environment = Object.fromEntries(
      Object.entries(process.env).filter(([key]) => passed.test(key) || settings.environment.includes(key)),
    )
    const child = fork(program, [], {
      env: { ...environment, UV_THREADPOOL_SIZE: threads },
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [],
    })
    const started: TokenProcess = { child, calls: new Map(), answers: 0 }
    const end = () => {
      if (processes.get(name) === started) processes.delete(name)
      for (const settle of started.calls.values()) settle(ended)
      started.calls.clear()
    }
    child.on('message', (answer: TokenAnswer) => {
      started.answers += 1
      started.calls.get(answer.id)?.(answer)
      started.calls.delete(answer.id)
    })
    child.once('error', end)
    child.once('exit', end)
    child.send({ login })
    // The service ends without waiting for its tokens.
    child.unref()
    child.channel?.unref()
    processes.set(name, started)
    return started
  }

  async function call(
    config: Pkcs11Config,
    digest: Uint8Array | undefined,
    signal: AbortSignal,
  ): Promise<Exclude<TokenAnswer, TokenFault>> {
    await loadPackage('pkcs11js', () => import('pkcs11js'))
    if (isStopped) throw new KeyServiceFault('unavailable', 'the service stops')
    const login = loginOf(config)
    const name = JSON.stringify(login)
    const wrong = wrong_pins.get(name)
    if (wrong) throw new KeyServiceFault('refused', `the token refused the PIN (${wrong}); it is not tried again`)
    const token = start(name, login)
    last_id += 1
    const id = last_id
    const { key_label, key_id } = config
    const key: TokenKey = { ...(key_label !== undefined && { key_label }), ...(key_id !== undefined && { key_id }) }
    const { answers } = token
    const began = performance.now()
    const answer = await new Promise<TokenAnswer | TokenFault>((resolve) => {
      token.calls.set(id, resolve)
      // A process that answers other calls does not hang.
      const late = () => {
        const hangs = token.answers === answers && performance.now() - began >= hang_ms
        resolve({ fault: 'no answer in time', kind: 'unavailable', restart: hangs })
      }
      signal.addEventListener('abort', late, { once: true })
      token.child.send({ id, key, ...(digest && { digest }) }, (error) => {
        if (error) resolve(ended)
      })
    })
    token.calls.delete(id)
    if (!('fault' in answer)) return answer
    if (pinFaults.has(answer.fault)) wrong_pins.set(name, answer.fault)
    if (answer.restart) {
      token.child.kill('SIGKILL')
      if (processes.get(name) === token) processes.delete(name)
    }
    throw new KeyServiceFault(answer.kind, `the token does not sign: ${answer.fault}`)
  }

  return {
    key: (config) => ({
      async publicKey(signal) {
        const answer = await call(config, undefined, signal)
        if ('point' in answer) return { address: addressOf(answer.point) }
        throw new KeyServiceFault('wrong', 'the token did not answer with a public key')
      },
      async sign(digest, signal) {
        const answer = await call(config, digest, signal)
        if ('rs' in answer) return { rs: answer.rs }
        throw new KeyServiceFault('wrong', 'the token did not answer with a signature')
      },
    }),
    stop() {
      isStopped = true
      for (const { child } of processes.values()) child.kill('SIGKILL')
    },
  }
}
