import { randomBytes } from 'node:crypto'
import type { AwsKmsSignerRequest, VaultSignerRequest } from '../../generated/openapi.ts'
import { ApiError } from '../errors.ts'
import type { Observer } from '../telemetry/observer.ts'
import { createAwsKms } from './aws-kms.ts'
import { addressOf } from './curve.ts'
import { KeyServiceFault, type Outbound, type RemoteKey } from './key-service.ts'
import { checked, createRemoteSigner, type RemoteReport } from './remote-signer.ts'
import type { Signer } from './signer.ts'
import { createVaultKv } from './vault-kv.ts'

/** A reference to a key in a key service: the type of the signer and its configuration. */
export type KeyReference = Pick<AwsKmsSignerRequest, 'type' | 'config'> | Pick<VaultSignerRequest, 'type' | 'config'>

export interface KeyServices {
  /** The address of the key, after a signature by it was checked. Throws ApiError (422, 503). */
  admit(reference: KeyReference): Promise<string>
  /** Calls nothing. One signer per key, so that the limits hold for all relayers of the key. */
  signer(reference: KeyReference, address: string): Signer
  /** Ends all calls. */
  stop(): void
}

const admission_ms = 15_000
const max_signers = 1_000

export function createKeyServices(
  outbound: Outbound,
  elapsed: () => number,
  observer: Pick<Observer, 'keyServiceCalled' | 'keyServiceWaits' | 'keyServiceDown' | 'keyServiceUp'> = {},
): KeyServices {
  const calls = new Set<AbortController>()
  let isStopped = false
  const signers = new Map<string, Signer>()
  const awsKms = createAwsKms(outbound)
  const vaultKv = createVaultKv(outbound)

  function open({ type, config }: KeyReference): RemoteKey {
    switch (type) {
      case 'aws_kms':
        return guarded(config.endpoint, awsKms(config))
      case 'vault':
        return guarded(config.url, vaultKv(config))
    }
  }

  /** The setting ALLOW_PRIVATE_TARGETS may have changed since the signer was created. */
  function guarded(url: string | undefined, key: RemoteKey): RemoteKey {
    const fault = url === undefined ? undefined : outbound.checkTarget(new URL(url))
    if (fault === undefined) return key
    const refuse = async () => {
      throw new KeyServiceFault('refused', `the endpoint of the key service ${fault}`)
    }
    return { publicKey: refuse, sign: refuse }
  }

  const reportOf = (type: KeyReference['type'], address: string): RemoteReport => ({
    called: (outcome, duration_ms) => observer.keyServiceCalled?.({ type, outcome, duration_ms }),
    waits: (change) => observer.keyServiceWaits?.(type, change),
    changed(fault) {
      if (fault) observer.keyServiceDown?.({ type, address, reason: fault.message, detail: fault.detail })
      else observer.keyServiceUp?.({ type, address })
    },
  })

  async function limited<T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    if (isStopped) controller.abort()
    const timer = setTimeout(() => controller.abort(), ms)
    calls.add(controller)
    try {
      return await call(controller.signal)
    } finally {
      clearTimeout(timer)
      calls.delete(controller)
    }
  }

  return {
    async admit(reference) {
      const key = open(reference)
      try {
        return await limited(admission_ms, async (signal) => {
          const address = addressOf(await key.publicKey(signal))
          const probe = randomBytes(32)
          checked(await key.sign(probe, signal), probe, address)
          return address
        })
      } catch (error) {
        throw error instanceof KeyServiceFault ? refusal(error) : error
      }
    },
    signer(reference, address) {
      const name = JSON.stringify([reference, address])
      const known = signers.get(name)
      if (known) return known
      if (signers.size >= max_signers) signers.clear()
      const report = reportOf(reference.type, address)
      const signer = createRemoteSigner(open(reference), address, { elapsed, limited, report })
      signers.set(name, signer)
      return signer
    },
    stop() {
      isStopped = true
      for (const controller of calls) controller.abort()
    },
  }
}

function refusal({ kind, message, detail }: KeyServiceFault): ApiError {
  const details = [{ path: '/body/config', message: detail ? `${message}: ${detail}` : message }]
  return kind === 'away' || kind === 'throttled'
    ? new ApiError('unavailable', 'Service Unavailable', details, { 'Retry-After': '5' })
    : new ApiError('unprocessable', 'Unprocessable Content', details)
}
