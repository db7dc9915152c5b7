import { expect, test } from 'vitest'
import { Routes } from '../server/http/routes.ts'
import { exchange, rawRequest } from './support/raw-http.ts'
import { startTestService } from './support/service.ts'

const routes = new Routes<string>()
for (const path of ['/a', '/a/{id}', '/a/pending', '/a/{id}/b', '/a/pending/c', '/a/{id}/b/', '/x/{one}/{two}', '/']) {
  routes.add('GET', path, path)
}
routes.add('POST', '/a/{key}', 'post')

const found = (path: string) => {
  const place = routes.find(path)
  return place && [place.targets.get('GET'), ...place.values]
}

test.each<[path: string, wanted: string[] | undefined]>([
  ['/a', ['/a']],
  ['/a/', undefined],
  ['/a/1/b/', ['/a/{id}/b/', '1']],
  ['/a/1', ['/a/{id}', '1']],
  ['/a/pending', ['/a/pending']],
  // What is fixed leads nowhere from here: the template is taken after all, and nothing is left of the first way.
  ['/a/pending/b', ['/a/{id}/b', 'pending']],
  ['/a/pending/c', ['/a/pending/c']],
  ['/a/1/b', ['/a/{id}/b', '1']],
  ['/x/1/2', ['/x/{one}/{two}', '1', '2']],
  ['/a/%2f', ['/a/{id}', '%2f']],
  ['/', ['/']],
  ['/A', undefined],
  ['/a/{id}', ['/a/{id}', '{id}']],
  ['/a/1/c', undefined],
  ['/a//b', undefined],
  ['//', undefined],
  ['/a//', undefined],
  ['/x', undefined],
  ['/x/1', undefined],
  ['/x/1/2/3', undefined],
  ['/__proto__', undefined],
  ['', ['/']],
])('%s', (path, wanted) => expect(found(path)).toEqual(wanted))

test('one path has its targets by method, and the names of the last that was added', () => {
  const place = routes.find('/a/1')
  expect([...(place?.targets.keys() ?? [])]).toEqual(['GET', 'POST'])
  expect(place?.names).toEqual(['key'])
})

test('a request may name the whole URL, and its path in any writing', async () => {
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

test('a slash at the end belongs to the path: only the list of transactions is served with it', async () => {
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
