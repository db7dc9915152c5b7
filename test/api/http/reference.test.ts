import { createHook } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { exchange, rawRequest } from '../../support/raw-http.ts'
import { startTestService } from '../../support/service.ts'

test('the samples of the reference and of the contract name the port that serves them', async () => {
  const { url } = await startTestService()
  const read = async (path: string) => {
    const response = await fetch(`${url}${path}`)
    return { text: await response.text(), policy: response.headers.get('content-security-policy') ?? '' }
  }
  for (const path of ['/docs', '/openapi.json', '/openapi.yaml']) {
    const { text } = await read(path)
    expect(text).toContain(`${url}/api/v1/relayers`)
    expect(text).not.toContain('127.0.0.1:8080')
  }
  const { text, policy } = await read('/docs')
  const [, script = ''] = /<script[^>]*>([\s\S]*?)<\/script>/.exec(text) ?? []
  expect(policy).toContain(`'sha256-${createHash('sha256').update(script).digest('base64')}'`)
})

test('sends the reference compressed to whoever takes that, and the same bytes to others', async () => {
  const { url } = await startTestService()
  const asked = async (encoding: string) => {
    const response = await fetch(`${url}/docs`, { headers: { 'Accept-Encoding': encoding } })
    return { packed: response.headers.get('content-encoding'), text: await response.text() }
  }
  const [plain, packed, refused] = [await asked('identity'), await asked('gzip, br'), await asked('gzip;q=0')]
  expect([plain.packed, packed.packed, refused.packed]).toEqual([null, 'gzip', null])
  expect(packed.text === plain.text && refused.text === plain.text).toBe(true)
})

test('compresses the reference when somebody takes that, and once', async () => {
  const { url } = await startTestService()
  let compressions = 0
  const hook = createHook({
    init: (_, type) => {
      if (type === 'ZLIB') compressions += 1
    },
  }).enable()
  const ask = async (...headers: string[]) => (await exchange(url, rawRequest('GET /docs', headers))).status
  expect([await ask(), await ask('Accept-Encoding: br')]).toEqual([200, 200])
  expect(compressions).toBe(0)
  expect(await Promise.all(Array.from({ length: 4 }, () => ask('Accept-Encoding: gzip')))).toEqual(Array(4).fill(200))
  expect(compressions).toBe(1)
  hook.disable()
})
