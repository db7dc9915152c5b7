import { expect, test } from 'vitest'
import { createSigner } from '../support/resources.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** How a resource of each kind is made under an id, and where it is then found. */
const kinds = [
  { list: 'notifications', body: () => ({ url: 'https://hooks.example.com' }) },
  { list: 'signers', body: () => ({ type: 'generated' }) },
  {
    list: 'relayers',
    body: async ({ client }: TestService) => {
      const { id: signerId } = await createSigner(client)
      return { name: 'R', network: 'local', network_type: 'evm', paused: false, signer_id: signerId }
    },
  },
]

const good = ['a', '0', '-._~', "!$&'()*+,;=:@", '...', '.a', 'A', 'a'.repeat(128), '__proto__', 'constructor']

const bad = ['""', '"."', '".."', '"a b"', '"a/b"', '"a%62"', '"a?b"', '"a#b"', '"[a]"', '"a|b"', '"é"', '"a\\u0000"']
const notTexts = ['null', '1', 'true', '["a"]', '{}', `"${'a'.repeat(129)}"`]

test.each(kinds)(
  '$list: accepts an id of 1 to 128 characters of a path segment, and finds it in a path',
  async (kind) => {
    const service = await startTestService()
    const create = async (id: string) => {
      const body = JSON.stringify({ ...(await kind.body(service)), id: '?' }).replace('"?"', () => id)
      return service.raw(`/api/v1/${kind.list}`, { method: 'POST', body })
    }
    for (const id of good) {
      expect.soft((await create(JSON.stringify(id))).status, id).toBe(201)
      for (const written of [id, encodeURIComponent(id)]) {
        const found = await service.raw(`/api/v1/${kind.list}/${written}`)
        expect.soft(await found.json(), written).toMatchObject({ data: { id } })
      }
      expect.soft((await create(JSON.stringify(id))).status, `${id} again`).toBe(409)
    }
    for (const id of [...bad, ...notTexts]) expect.soft((await create(id)).status, id).toBe(400)
  },
)

test('distinguishes upper and lower case in ids', async () => {
  const { client } = await startTestService()
  for (const id of ['a', 'A']) await client.post('/api/v1/signers', { body: { id, type: 'generated' } })
  const address = async (signerId: string) =>
    (await client.get('/api/v1/signers/{signer_id}', { path: { signer_id: signerId } })).data.address
  expect(await address('a')).not.toBe(await address('A'))
})

const unmatched: [string, number][] = [
  ['a%00', 400],
  ['%00', 400],
  ['a%0Ab', 400],
  ['a%7Fb', 400],
  ['a%C2%85b', 400],
  ['a%FF', 400],
  ['%', 400],
  ['a%2', 400],
  ['a'.repeat(129), 400],
  ['a'.repeat(5_000), 400],
  ['a%2Fb', 404],
  ['%2e%2e%2fb', 404],
  ['a%20b', 404],
  ['%C3%A9', 404],
  ['%F0%9F%94%91', 404],
  ['..%2Frelayers', 404],
  ['a%25b', 404],
]

test('answers 400 for an id in a path with a control character or too many characters, and 404 for any other unknown id', async () => {
  const { raw } = await startTestService()
  const messages: Record<string, (id: string) => string> = {
    notifications: () => 'Notification not found',
    signers: () => 'Not Found',
    networks: () => 'Not Found',
    relayers: (id) => `Relayer with ID ${id} not found`,
  }
  for (const [list, message] of Object.entries(messages)) {
    for (const [id, status] of unmatched) {
      const response = await raw(`/api/v1/${list}/${id}`)
      expect.soft(response.status, `${list}/${id}`).toBe(status)
      const expected = status === 400 ? 'Bad Request' : message(decodeURIComponent(id))
      expect
        .soft(await response.json(), `${list}/${id}`)
        .toMatchObject({ success: false, data: null, message: expected })
    }
  }
})
