import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { keccak256 } from 'ethers/crypto'
import { badRequest, DomainError, inputFault } from '../domain/errors.ts'
import type { Observer } from '../domain/observer.ts'
import type { LoginTrust } from '../domain/rows.ts'
import type { HeadersByUrl } from '../domain/settings.ts'
import { BoundedMap } from '../lib/bounded-map.ts'
import { withTimeout } from '../lib/timeout.ts'
import { type KeyReference, urlFault } from './key-reference.ts'
import { KeyServiceFault, type Outbound, type RemoteKey } from './key-service.ts'
import { createAwsKms } from './providers/aws-kms.ts'
import { createAzureKeyVault } from './providers/azure-key-vault.ts'
import { createGoogleCloudKms } from './providers/google-cloud-kms.ts'
import { createPkcs11, type Pkcs11Settings } from './providers/pkcs11.ts'
import { checked, createRemoteSigner, type RemoteReport } from './providers/remote-signer.ts'
import type { TokenLogins } from './providers/token-logins.ts'
import { createVaultKv } from './providers/vault.ts'
import { createWeb3signer } from './providers/web3signer.ts'
import type { Signer } from './signer.ts'

export interface KeyServices {
  /**
   * The address of the key, after a signature by it was checked, and the reference, with the version of the key. Throws DomainError
   * (400, 422, 503). `trust`: of the caller who gives it.
   */
  admit(reference: KeyReference, trust: LoginTrust): Promise<{ address: string; reference: KeyReference }>
  /** Calls nothing. One signer per key, so that the limits hold for all relayers of the key. */
  signer(reference: KeyReference, address: string): Signer
  /** Ends all calls. */
  stop(): void
}

const admissionMs = 15_000
const maxSigners = 1_000

export function createKeyServices(
  outbound: Outbound,
  settings: { pkcs11: Pkcs11Settings; remote_signer_headers: HeadersByUrl },
  logins: TokenLogins,
  elapsed: () => number,
  observer: Pick<Observer, 'keyServiceCalled' | 'keyServiceWaits' | 'keyServiceDown' | 'keyServiceUp'> = {},
): KeyServices {
  const stopped = new AbortController()
  setMaxListeners(0, stopped.signal)
  const signers = new BoundedMap<string, Signer>(maxSigners)
  const awsKms = createAwsKms(outbound)
  const googleCloudKms = createGoogleCloudKms(outbound)
  const azureKeyVault = createAzureKeyVault(outbound)
  const pkcs11 = createPkcs11(settings.pkcs11, logins)
  const web3signer = createWeb3signer(outbound, settings.remote_signer_headers)
  const vaultKv = createVaultKv(outbound)

  /** `address`: of the key; undefined before its admission. */
  function open(reference: KeyReference, address?: string, trust: LoginTrust = 'operator'): RemoteKey {
    // The setting ALLOW_PRIVATE_TARGETS may have changed since the signer was created.
    const fault = urlFault(reference, outbound.checkTarget)
    if (fault) return refusing(new KeyServiceFault('refused', `the ${fault.field} of the key service ${fault.message}`))
    const { type, config } = reference
    switch (type) {
      case 'aws_kms':
        return awsKms(config)
      case 'google_cloud_kms':
        return googleCloudKms(config)
      case 'azure_key_vault':
        return azureKeyVault(config)
      case 'pkcs11':
        return pkcs11.key(config, trust)
      case 'remote':
        return web3signer(config)
      case 'vault':
        return vaultKv(config, address)
    }
  }

  const reportOf = (type: KeyReference['type'], address: string): RemoteReport => ({
    called: (outcome, durationMs) => observer.keyServiceCalled?.({ type, outcome, duration_ms: durationMs }),
    waits: (change) => observer.keyServiceWaits?.(type, change),
    changed(fault) {
      if (fault) observer.keyServiceDown?.({ type, address, reason: fault.message, detail: fault.detail })
      else observer.keyServiceUp?.({ type, address })
    },
  })

  const limited = <T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    withTimeout(ms, late, call, stopped.signal)

  return {
    async admit(reference, trust) {
      const fault = urlFault(reference, outbound.checkTarget)
      if (fault) throw badRequest(['config', fault.field], fault.message)
      try {
        return await limited(admissionMs, async (signal) => {
          const { address, version } = await open(reference, undefined, trust).publicKey(signal)
          const exact = version === undefined ? reference : withVersion(reference, version)
          const { digest, preimage } = probe()
          checked((await open(exact, undefined, trust).sign(digest, signal, preimage)).rs, digest, address)
          return { address, reference: exact }
        })
      } catch (error) {
        throw error instanceof KeyServiceFault ? refusal(error) : error
      }
    },
    signer(reference, address) {
      const name = JSON.stringify([reference, address])
      const known = signers.get(name)
      if (known) return known
      const report = reportOf(reference.type, address)
      const signer = createRemoteSigner(open(reference, address), address, { elapsed, limited, report })
      signers.set(name, signer)
      return signer
    },
    stop() {
      pkcs11.stop()
      stopped.abort()
    },
  }
}

const late = () => new KeyServiceFault('unavailable', 'no answer from the key service in time')

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
    : new DomainError('unprocessable', faults)
}
