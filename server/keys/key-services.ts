import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { keccak256 } from 'ethers/crypto'
import { badRequest, DomainError, inputFault } from '../domain/errors.ts'
import type { Observer } from '../domain/observer.ts'
import type { LoginTrust } from '../domain/rows.ts'
import type { HeadersByUrl } from '../domain/settings.ts'
import { BoundedMap } from '../lib/cache.ts'
import { withTimeout } from '../lib/timers.ts'
import { type KeyReference, urlFault } from './key-reference.ts'
import { KeyServiceFault, type Outbound, type RemoteKey, shutDown } from './key-service.ts'
import { AwsClients, awsKey } from './providers/aws-kms.ts'
import { AzureKeyVault, azureKey } from './providers/azure-key-vault.ts'
import { GoogleCloudKms, googleKey } from './providers/google-cloud-kms.ts'
import { Pkcs11, type Pkcs11Settings, type TokenLogins } from './providers/pkcs11.ts'
import { checked, type RemoteReport, RemoteSigner } from './providers/remote-signer.ts'
import { vaultKey } from './providers/vault.ts'
import { Web3signer } from './providers/web3signer.ts'
import type { Signer } from './signer.ts'

const admissionMs = 15_000
const maxSigners = 1_000

interface KeyServicesContext {
  outbound: Outbound
  settings: { pkcs11: Pkcs11Settings; remote_signer_headers: HeadersByUrl }
  logins: TokenLogins
  /** A monotonic clock in milliseconds. */
  elapsed(): number
  observer?: Pick<Observer, 'keyServiceCalled' | 'keyServiceWaits' | 'keyServiceDown' | 'keyServiceUp'>
}

/** The keys in key services. */
export class KeyServices {
  readonly #context: KeyServicesContext
  readonly #stopped = new AbortController()
  readonly #signers = new BoundedMap<string, RemoteSigner>(maxSigners)
  readonly #awsClients: AwsClients
  readonly #googleCloudKms: GoogleCloudKms
  readonly #azureKeyVault: AzureKeyVault
  readonly #pkcs11: Pkcs11
  readonly #web3signer: Web3signer

  constructor(context: KeyServicesContext) {
    const { outbound, settings, logins } = context
    this.#context = context
    setMaxListeners(0, this.#stopped.signal)
    this.#awsClients = new AwsClients(outbound)
    this.#googleCloudKms = new GoogleCloudKms(outbound)
    this.#azureKeyVault = new AzureKeyVault(outbound)
    this.#pkcs11 = new Pkcs11(settings.pkcs11, logins)
    this.#web3signer = new Web3signer(outbound, settings.remote_signer_headers)
  }

  /**
   * The address of the key, after a signature by it was checked, and the reference, with the version of the key. Throws DomainError
   * (400, 422, 503). `trust`: of the caller who gives it.
   */
  async admit(reference: KeyReference, trust: LoginTrust): Promise<{ address: string; reference: KeyReference }> {
    const fault = urlFault(reference, this.#context.outbound.checkTarget)
    if (fault) throw badRequest(['config', fault.field], fault.message)
    try {
      return await this.#limited(admissionMs, async (signal) => {
        const { address, version } = await this.#open(reference, undefined, trust).publicKey(signal)
        const exact = version === undefined ? reference : withVersion(reference, version)
        const { digest, preimage } = probe()
        checked((await this.#open(exact, undefined, trust).sign(digest, signal, preimage)).rs, digest, address)
        return { address, reference: exact }
      })
    } catch (error) {
      throw error instanceof KeyServiceFault ? refusal(error) : error
    }
  }

  /** Calls nothing. One signer per key, so that the limits hold for all relayers of the key. */
  signer(reference: KeyReference, address: string): Signer {
    const name = JSON.stringify([reference, address])
    return this.#signers.of(name, () => {
      const report = this.#reportOf(reference.type, address)
      return new RemoteSigner(this.#open(reference, address), address, {
        elapsed: this.#context.elapsed,
        stopped: this.#stopped.signal,
        limited: (ms, call) => this.#limited(ms, call),
        report,
      })
    })
  }

  /** Ends all calls, and rejects all requests from now on. */
  stop(): void {
    this.#stopped.abort()
    for (const signer of this.#signers.values()) signer.stop()
    this.#pkcs11.stop()
  }

  /** `address`: of the key; undefined before its admission. */
  #open(reference: KeyReference, address?: string, trust: LoginTrust = 'operator'): RemoteKey {
    // The setting ALLOW_PRIVATE_TARGETS may have changed since the signer was created.
    const fault = urlFault(reference, this.#context.outbound.checkTarget)
    if (fault) return refusing(new KeyServiceFault('refused', `the ${fault.field} of the key service ${fault.message}`))
    const { type, config } = reference
    switch (type) {
      case 'aws_kms':
        return awsKey(this.#awsClients, config)
      case 'google_cloud_kms':
        return googleKey(this.#googleCloudKms, config)
      case 'azure_key_vault':
        return azureKey(this.#azureKeyVault, config)
      case 'pkcs11':
        return this.#pkcs11.key(config, trust)
      case 'remote':
        return this.#web3signer.key(config)
      case 'vault':
        return vaultKey(this.#context.outbound, config, address)
    }
  }

  #reportOf(type: KeyReference['type'], address: string): RemoteReport {
    return {
      called: (outcome, durationMs) =>
        this.#context.observer?.keyServiceCalled?.({ type, outcome, duration_ms: durationMs }),
      waits: (change) => this.#context.observer?.keyServiceWaits?.(type, change),
      changed: (fault) => {
        if (fault)
          this.#context.observer?.keyServiceDown?.({ type, address, reason: fault.message, detail: fault.detail })
        else this.#context.observer?.keyServiceUp?.({ type, address })
      },
    }
  }

  #limited<T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal } = this.#stopped
    return withTimeout(ms, () => (signal.aborted ? shuttingDown() : late()), call, signal)
  }
}

const late = () => new KeyServiceFault('unavailable', 'no answer from the key service in time')
const shuttingDown = () => new KeyServiceFault('unavailable', shutDown)

/** Random content: a text by EIP-191, because some remote signers sign nothing else. */
function probe(): { digest: Uint8Array; preimage(): Uint8Array } {
  const text = `Relayer service: probe of a signer, ${randomBytes(16).toString('hex')}`
  const bytes = Buffer.from(`\x19Ethereum Signed Message:\n${text.length}${text}`)
  return { digest: Buffer.from(keccak256(bytes).slice(2), 'hex'), preimage: () => bytes }
}

const withVersion = (reference: KeyReference, keyVersion: string): KeyReference =>
  reference.type === 'azure_key_vault'
    ? { ...reference, config: { ...reference.config, key_version: keyVersion } }
    : reference

function refusing(fault: KeyServiceFault): RemoteKey {
  const refuse = () => Promise.reject(fault)
  return { publicKey: refuse, sign: refuse }
}

function refusal({ kind, message, detail }: KeyServiceFault): DomainError {
  const faults = [inputFault(['config'], detail ? `${message}: ${detail}` : message)]
  return kind === 'unavailable' || kind === 'throttled'
    ? new DomainError('unavailable', faults, { retry_after_s: 5 })
    : new DomainError('key_service_refused', faults)
}
