import { expect, test } from 'vitest'
import { Endpoint } from '../../server/chain/endpoint.ts'
import type { PostAnswer } from '../../server/chain/post.ts'
import type { RpcErrorObject } from '../../server/chain/rpc-error.ts'

const chainId = { jsonrpc: '2.0', id: 0, result: '0x1' }
const call = { method: 'eth_chainId', params: [] }
const scrub = (error: RpcErrorObject) => error
const settings = { weight: 100, chain_id: 1, audience: 'service' as const, scrub }

test('ends the backoff of an endpoint as soon as it answers', async () => {
  let isDown = true
  const post = async (body: string): Promise<PostAnswer> => {
    if (isDown) throw new Error('No answer in time')
    const calls = JSON.parse(body) as unknown[]
    return { status: 200, retry_after_s: undefined, json: async () => calls.map((_, id) => ({ ...chainId, id })) }
  }
  const endpoint = new Endpoint({ ...settings, post, now: () => 1_000 })
  for (let failure = 0; failure < 3; failure += 1) await expect(endpoint.ask([call])).rejects.toThrow('No answer')
  expect(endpoint.rest_until).toBeGreaterThan(1_000)
  isDown = false
  await endpoint.ask([call])
  expect(endpoint.rest_until).toBe(0)
})

test('waits for the Retry-After of an endpoint, whatever the response to an earlier request is', async () => {
  const answers: ((answer: PostAnswer) => void)[] = []
  const endpoint = new Endpoint({
    ...settings,
    post: () => new Promise((resolve) => answers.push(resolve)),
    now: () => 1_000,
  })
  const [earlier, later] = [endpoint.ask([call]), endpoint.ask([call])]
  answers[1]?.({ status: 429, retry_after_s: 30, json: async () => '' })
  await expect(later).rejects.toThrow('429')
  const json = async () => [0, 1].map((id) => ({ ...chainId, id }))
  answers[0]?.({ status: 200, retry_after_s: undefined, json })
  await earlier
  expect(endpoint.rest_until).toBe(31_000)
})

test.each([
  ['service', 30],
  ['callers', 2],
] as const)(
  'rests after a 429 to a call of %s at most %i of the 30 s that the node asks for',
  async (audience, restS) => {
    const post = async () => ({ status: 429, retry_after_s: 30, json: async () => '' })
    const endpoint = new Endpoint({ ...settings, post, now: () => 0, audience })
    await expect(endpoint.ask([call])).rejects.toThrow('429')
    expect(endpoint.rest_until).toBe(restS * 1_000)
  },
)
