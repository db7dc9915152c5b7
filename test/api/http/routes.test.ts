import { expect, test } from 'vitest'
import { exchange, rawRequest } from '../../support/raw-http.ts'
import { startTestService } from '../../support/service.ts'

test('accepts an absolute URL and percent-encoded paths in a request', async () => {
  const { url, api_key } = await startTestService()
  const status = async (target: string) =>
    (await exchange(url, rawRequest(`GET ${target}`, [`Authorization: Bearer ${api_key}`]))).status
  expect(await status('/api/v1/relayers/demo')).toBe(200)
  expect(await status('http://example.com/api/v1/relayers/demo?')).toBe(200)
  expect(await status('HTTP://example.com:80/api/v1/relayers/%64emo')).toBe(200)
  // RFC 3986, 6.2.2.2: only an unreserved character is the same when it is encoded.
  expect(await status('/api/v1/%72elayers')).toBe(200)
  expect(await status('/%64ocs')).toBe(200)
  expect(await status('/api/v1%2Frelayers')).toBe(404)
  expect(await status('http://example.com/docs')).toBe(200)
  expect(await status('http://example.com')).toBe(404)
  expect(await status('/api/v1/relayers/%ff')).toBe(400)
  expect(await status('/api/v1/Relayers/demo')).toBe(404)
  expect(await status('/api/v1//relayers/demo')).toBe(404)
})

test('treats a trailing slash as part of the path, except in the list of transactions', async () => {
  const { url, api_key } = await startTestService()
  const ask = async (line: string) => {
    const { status, headers } = await exchange(url, rawRequest(line, [`Authorization: Bearer ${api_key}`]))
    return [status, headers.allow]
  }
  const list = '/api/v1/relayers/demo/transactions'
  expect(await ask(`GET ${list}/`)).toEqual([200, undefined])
  expect(await ask(`GET ${list}`)).toEqual([200, undefined])
  expect(await ask(`POST ${list}/`)).toEqual([405, 'GET, HEAD'])
  expect(await ask(`PUT ${list}`)).toEqual([405, 'GET, HEAD, POST'])
  expect(await ask('GET /api/v1/relayers/')).toEqual([404, undefined])
  expect(await ask('GET /api/v1/relayers/demo/')).toEqual([404, undefined])
  expect(await ask('GET /api/v1/health/')).toEqual([404, undefined])
})

test('redirects a browser at the root to the console, with or without a token, and answers other clients with a failure', async () => {
  const { url, api_key } = await startTestService()
  const ask = async (line: string, headers: string[]) => {
    const answer = await exchange(url, rawRequest(line, headers))
    return [answer.status, answer.headers.location, answer.text]
  }
  const html = 'Accept: text/html,application/xhtml+xml,*/*;q=0.8'
  const token = `Authorization: Bearer ${api_key}`
  expect(await ask('GET /', [html])).toEqual([302, '/console', ''])
  expect(await ask('GET /', [html, token])).toEqual([302, '/console', ''])
  expect(await ask('HEAD /', [html])).toEqual([302, '/console', ''])
  for (const accept of [[], ['Accept: */*'], ['Accept: application/json']]) {
    expect((await ask('GET /', [...accept, token])).slice(0, 2)).toEqual([404, undefined])
    expect((await ask('GET /', accept))[0]).toBe(401)
  }
  expect((await ask('POST /', [html, token]))[0]).toBe(404)
  expect((await ask('GET /api', [html, token]))[0]).toBe(404)
})
