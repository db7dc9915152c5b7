import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { KeyServiceFault, KeyServicesStopped, type RemoteKey } from '../../server/keys/key-service.ts'
import { RemoteSigner, type RemoteSignerEffects } from '../../server/keys/providers/remote-signer.ts'
import { addressOf } from '../../server/keys/secp256k1.ts'
import { publicKeyOf, signedBy } from '../support/key-faults.ts'

const key = Buffer.alloc(32, 5)
const address = addressOf(publicKeyOf(key))
const digestOf = (index: number) => Buffer.alloc(32, index + 1)
const indexOf = (digest: Uint8Array) => (digest[0] ?? 0) - 1

/** `call`: what the key service does with the request of this index; undefined: it signs. */
function signerOver(
  call: (index: number) => KeyServiceFault | undefined,
  dependencies: Partial<RemoteSignerEffects> = {},
) {
  const outcomes: string[] = []
  const sign: RemoteKey['sign'] = async (digest) => {
    await pause(1)
    const fault = call(indexOf(digest))
    if (fault) throw fault
    return { rs: signedBy(key, digest) }
  }
  const remote: RemoteKey = { sign, publicKey: async () => ({ address }) }
  const signer = new RemoteSigner(remote, address, {
    elapsed: () => performance.now(),
    stopped: new AbortController().signal,
    limited: (_, run) => run(new AbortController().signal),
    report: { called: (outcome) => outcomes.push(outcome) },
    ...dependencies,
  })
  return {
    signer,
    sign: async (index: number, signal?: AbortSignal) => signer.sign(digestOf(index), () => digestOf(index), signal),
    outcomes,
  }
}

test('repeats throttled requests in the order of their arrival', async () => {
  let room = 3
  const { sign, outcomes } = signerOver(() => {
    room -= 1
    return room < 0 ? new KeyServiceFault('throttled', 'too many') : undefined
  })
  const signed: number[] = []
  const all = Array.from({ length: 9 }, async (_, index) => {
    await sign(index)
    signed.push(index)
  })
  await expect.poll(() => outcomes.length).toBe(9)
  room = Number.POSITIVE_INFINITY
  await Promise.all(all)
  expect(signed).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
})

test('lowers the limit of concurrent requests while throttled, and drops requests that callers have abandoned', async () => {
  let isThrottling = true
  const { signer, sign, outcomes } = signerOver(() =>
    isThrottling ? new KeyServiceFault('throttled', 'too many') : undefined,
  )
  expect(signer.at_once).toBe(64)
  const controller = new AbortController()
  const givenUp = Array.from({ length: 4 }, (_, index) => sign(index, controller.signal))
  await expect.poll(() => signer.at_once).toBeLessThan(64)
  controller.abort()
  isThrottling = false
  const settled = await Promise.allSettled(givenUp)
  expect(settled.map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  await sign(5)
  expect(outcomes.filter((outcome) => outcome === 'signed')).toHaveLength(1)
})

test('repeats a request that fails while others are signed, without stopping them', async () => {
  let failures = 6
  const { sign, outcomes } = signerOver((index) => {
    if (index !== 0 || failures === 0) return undefined
    failures -= 1
    return new KeyServiceFault('unavailable', 'no answer in time')
  })
  let isSigned = false
  const first = sign(0).then(() => {
    isSigned = true
  })
  let index = 1
  while (!isSigned) await Promise.all([sign(index++ % 200), sign(index++ % 200), pause(1)])
  await first
  expect(outcomes.filter((outcome) => outcome === 'unavailable')).toHaveLength(6)
})

test('treats a key service as down after the second call without an answer', async () => {
  let aheadMs = 0
  const { sign, outcomes } = signerOver(() => new KeyServiceFault('unavailable', 'no answer in time'), {
    elapsed: () => performance.now() + aheadMs,
    // Each call takes as long as it may.
    limited: async (ms, run) => {
      aheadMs += ms
      return run(new AbortController().signal)
    },
  })
  await expect(sign(0)).rejects.toMatchObject({ message: 'no answer in time' })
  expect(outcomes).toEqual(['unavailable', 'unavailable'])
  await expect(sign(1)).rejects.toMatchObject({ message: 'no answer in time' })
  expect(outcomes).toHaveLength(2)
})

test('rejects what is in flight, what waits and what comes later once when the service stops, without a fault of the key service', async () => {
  const stopped = new AbortController()
  const told: unknown[] = []
  let asked = 0
  const remote: RemoteKey = {
    publicKey: async () => ({ address }),
    async sign(digest, signal) {
      asked += 1
      // One was answered after the others began, as by a key service under load.
      if (asked === 1) return { rs: signedBy(key, digest) }
      if (asked === 2) throw new KeyServiceFault('throttled', 'too many')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw new KeyServiceFault('unavailable', 'no answer')
    },
  }
  const waits: number[] = []
  const signer = new RemoteSigner(remote, address, {
    elapsed: () => performance.now(),
    stopped: stopped.signal,
    limited: (_, run) => run(stopped.signal),
    report: {
      called: (outcome) => told.push(outcome),
      waits: (change) => waits.push(change),
      changed: (fault) => told.push(fault),
    },
  })
  const sign = () => signer.sign(digestOf(0), () => digestOf(0))
  const all = Array.from({ length: 264 }, sign)
  const settled = Promise.allSettled(all)
  await expect.poll(() => told).toEqual(['signed', 'throttled'])
  stopped.abort()
  signer.stop()
  const [first, ...others] = await settled
  expect(first?.status).toBe('fulfilled')
  const rejection = { status: 'rejected', reason: expect.any(KeyServicesStopped) }
  expect(others).toEqual(Array(263).fill(rejection))
  await expect(sign()).rejects.toMatchObject({ message: 'the service is shutting down' })
  expect(told).toEqual(['signed', 'throttled'])
  expect(asked).toBe(64)
  expect(waits.reduce((sum, change) => sum + change)).toBe(0)
})
