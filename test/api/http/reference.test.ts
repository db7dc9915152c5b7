import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
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
