import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { KeyServiceFault, type RemoteKey } from '../../server/keys/key-service.ts'
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
  await expect(sign(0)).rejects.toMatchObject({ reason: 'no answer in time' })
  expect(outcomes).toEqual(['unavailable', 'unavailable'])
  await expect(sign(1)).rejects.toMatchObject({ reason: 'no answer in time' })
  expect(outcomes).toHaveLength(2)
})
