import { expect, test } from 'vitest'
import type { FailureDetail } from '../../../client/index.ts'
import { type ContractOperation, operations } from '../../support/contract.ts'
import { exchange, json, rawRequest } from '../../support/raw-http.ts'
import { bad, bearer, type Case, expectRefused, get, missing, withBody } from '../../support/refusals.ts'
import { startTestService } from '../../support/service.ts'

const sign = 'POST /api/v1/relayers/demo/sign'
const body = '{"message":"Hello"}'

const unauthorized = (name: string, send: Case['send']): Case => ({
  name,
  send,
  status: 401,
  message: 'Unauthorized',
  at: '/headers/authorization',
  header: ['www-authenticate', 'Bearer'],
})

test('answers 401 to a missing, malformed, duplicate or wrong token', async () => {
  const signing = (name: string, lines: (token: string) => string[]) =>
    unauthorized(name, (token) => rawRequest(sign, [...lines(token), ...json(body)], body))
  await expectRefused(await startTestService(), [
    signing('none', () => []),
    signing('empty', () => ['Authorization: ']),
    signing('the scheme alone', () => ['Authorization: Bearer']),
    signing('no scheme', (token) => [`Authorization: ${token}`]),
    signing('another scheme', (token) => [`Authorization: Basic ${token}`]),
    signing('a scheme that ends alike', (token) => [`Authorization: NotBearer ${token}`]),
    signing('a tab', (token) => [`Authorization: Bearer\t${token}`]),
    signing('in quotes', (token) => [`Authorization: Bearer "${token}"`]),
    signing('a list', (token) => [`Authorization: Bearer ${token}, Bearer ${token}`]),
    signing('one character more', (token) => [`Authorization: Bearer ${token}A`]),
    signing('one character less', (token) => [`Authorization: Bearer ${token.slice(0, -1)}`]),
    signing('another case', (token) => [`Authorization: Bearer ${swapCase(token)}`]),
    signing('very long', () => [`Authorization: Bearer ${'a'.repeat(8_000)}`]),
    signing('twice the same', (token) => [bearer(token), bearer(token)]),
    signing('right, then wrong', (token) => [bearer(token), 'Authorization: Bearer wrong']),
    signing('wrong, then right', (token) => ['authorization: Bearer wrong', bearer(token)]),
    signing('under another name', (token) => [`X-Authorization: Bearer ${token}`, `Cookie: token=${token}`]),
    unauthorized('in the query', (token) => rawRequest(`GET /api/v1/relayers?access_token=${token}`)),
  ])
})

/** Another token, unless it has no letters at all. */
const swapCase = (text: string) =>
  text.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )

test('accepts the scheme in any case, with any number of spaces after it', async () => {
  const { url, api_key } = await startTestService()
  const answer = await exchange(url, rawRequest(sign, [`authorization: bEARER ${api_key}`, ...json(body)], body))
  expect(answer.status).toBe(200)
  const spaced = [`Authorization: Bearer   ${api_key}`, ...json(body)]
  expect((await exchange(url, rawRequest(sign, spaced, body))).status).toBe(200)
})

test('checks the token before everything else', async () => {
  const headers = ['Content-Type: application/json', 'Content-Length: 100']
  await expectRefused(await startTestService(), [
    unauthorized('a body that never comes', () => rawRequest(sign, headers)),
    unauthorized('a body that is too large', () => rawRequest(sign, ['Content-Length: 999999999'])),
    unauthorized('no JSON', () => rawRequest(sign, json('{'), '{')),
    unauthorized('a wrong content type', () =>
      rawRequest(sign, ['Content-Type: text/plain', 'Content-Length: 1'], 'x'),
    ),
    unauthorized('an unknown route', () => rawRequest('GET /api/v2/nothing')),
    unauthorized('the root', () => rawRequest('GET /')),
    unauthorized('an unknown method', () => rawRequest('PUT /api/v1/relayers')),
    unauthorized('an unknown method of an open path', () => rawRequest('POST /api/v1/health')),
    unauthorized('an unknown relayer', () => rawRequest('GET /api/v1/relayers/none')),
    unauthorized('a path that is no URI', () => rawRequest('GET /api/v1/relayers/%zz')),
    unauthorized('a path that only looks open', () => rawRequest('GET /api/v1/relayers/demo?/api/v1/health')),
    unauthorized('an unknown query', () => rawRequest('GET /api/v1/relayers?extra=1')),
  ])
})

test('checks the token before the body, in every operation that requires one', async () => {
  await expectRefused(
    await startTestService(),
    operations
      .filter(({ guarded }) => guarded)
      .map(({ id, method, path }) => unauthorized(id, () => rawRequest(`${method} ${ofNobody(path)}`, json('{'), '{'))),
  )
})

/** The first example body of the contract; empty without examples. */
const bodyOf = ({ examples }: ContractOperation) => (examples.length > 0 ? JSON.stringify(examples[0]) : '')

const ofNobody = (path: string) => path.replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'nonce' ? '0' : 'none'))

test('checks the form of a relayer’s id before its existence, in every operation', async () => {
  const ofRelayers = operations.filter(({ path }) => path.includes('{relayer_id}'))
  const line = ({ method, path }: ContractOperation) => `${method} ${ofNobody(path)}`
  const message = ({ id }: ContractOperation) => (id === 'signMessage' ? 'Not found' : 'Relayer with ID none not found')
  await expectRefused(await startTestService(), [
    ...ofRelayers
      // JSON-RPC answers a fault of its body as JSON-RPC does (test/api/json-rpc).
      .filter(({ id, bodies }) => Object.keys(bodies).length > 0 && id !== 'callRelayerJsonRpc')
      .map((operation) => bad(operation.id, withBody(line(operation), '[]'), '/body')),
    ...ofRelayers.map((operation) => {
      const body = bodyOf(operation)
      const headers = body === '' ? [] : json(body)
      return missing(operation.id, withBody(line(operation), body, headers), message(operation))
    }),
  ])
})

test('checks the route, then the schema, then the named resources', async () => {
  const refused = (name: string, path: string, method: string, allow: string): Case => ({
    name,
    send: withBody(`${method} ${path}`, '{'),
    status: 405,
    message: 'Method Not Allowed',
    at: '/method',
    header: ['allow', allow],
  })
  await expectRefused(await startTestService(), [
    missing('an unknown route', withBody('POST /api/v1/nothing', '{'), 'Not Found', '/path'),
    missing('the root', get('/'), 'Not Found', '/path'),
    missing('another case', get('/API/V1/relayers'), 'Not Found', '/path'),
    missing('a doubled slash', get('/api/v1//relayers'), 'Not Found', '/path'),
    missing('an open path gone on', get('/api/v1/health/more'), 'Not Found', '/path'),
    missing('no absolute path', (token) => rawRequest('OPTIONS *', [bearer(token)]), 'Not Found', '/path'),
    refused('one method', '/api/v1/relayers/demo/sign', 'GET', 'POST'),
    refused('one method of an unknown relayer', '/api/v1/relayers/none/sign', 'DELETE', 'POST'),
    refused('a list', '/api/v1/relayers/demo/transactions', 'PATCH', 'GET, HEAD, POST'),
    refused('an open path', '/api/v1/health', 'POST', 'GET, HEAD'),
    {
      name: 'a wrong shape of an unknown relayer',
      send: withBody('POST /api/v1/relayers/none/sign', '{}'),
      status: 400,
      message: 'Bad Request',
      at: '/body/message',
    },
    missing('an unknown relayer', withBody('POST /api/v1/relayers/none/sign', body), 'Not found'),
  ])
})

test('answers bytes that are not HTTP with a failure of the same form', async () => {
  const raw = (name: string, bytes: string, status = 400, message = 'Bad Request', at?: string): Case => ({
    name,
    ...(at !== undefined && { at }),
    send: () => bytes,
    status,
    message,
  })
  const line = 'GET /api/v1/health HTTP/1.1\r\n'
  const wrong = (name: string, bytes: string, at: string) => raw(name, bytes, 400, 'Bad Request', at)
  await expectRefused(await startTestService(), [
    raw('TLS', '\x16\x03\x01\x02\0\x01\0\r\n\r\n'),
    raw('the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    raw('an unknown method', 'FETCH / HTTP/1.1\r\nHost: a\r\n\r\n', 501, 'Not Implemented'),
    raw('an unknown method that begins as a known one', 'GETS / HTTP/1.1\r\nHost: a\r\n\r\n', 501, 'Not Implemented'),
    raw('a method for proxies', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 501, 'Not Implemented'),
    raw('a control character in the path', 'GET /a\x01b HTTP/1.1\r\nHost: a\r\n\r\n'),
    raw('bytes beyond ASCII in the path', 'GET /é HTTP/1.1\r\nHost: a\r\n\r\n'),
    wrong('no host', `${line}\r\n`, '/headers/host'),
    wrong('two hosts', `${line}Host: a\r\nHost: a\r\n\r\n`, '/headers/host'),
    ...['a b', 'a/b', 'u@a', 'a:b', '[::1', '\xe9'].map((host) =>
      wrong(`the host ${host}`, `${line}Host: ${host}\r\n\r\n`, '/headers/host'),
    ),
    ...['gzip', 'gzip, chunked', 'x'].map((coding) => {
      const head = `POST /api/v1/relayers/demo/sign HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${coding}\r\n\r\n`
      return wrong(`the transfer coding ${coding}`, head, '/headers/transfer-encoding')
    }),
    raw(
      'chunked twice',
      'POST /api/v1/relayers/demo/sign HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n',
    ),
    raw('a length that is no number', `${line}Host: a\r\nContent-Length: 1e3\r\n\r\n`),
    raw(
      'two ways to say how long',
      `${line}Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ),
    raw(
      'a header of 20 kB',
      `${line}Host: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'Request Header Fields Too Large',
    ),
    raw('an expectation', `${line}Host: a\r\nExpect: miracles\r\n\r\n`, 417, 'Expectation Failed'),
  ])
})

test('says what is wrong with the header of the API key, and nothing about a key', async () => {
  const service = await startTestService()
  const told = async (headers: Record<string, string>) => {
    const answer = await fetch(`${service.url}/api/v1/relayers`, { headers })
    return ((await answer.json()) as { details: FailureDetail[] }).details[0]?.message
  }
  expect(await told({})).toBe('is missing; send Authorization: Bearer and the API key')
  expect(await told({ 'X-API-Key': service.api_key })).toMatch(/^is missing: X-API-Key is not read; send Authorization/)
  expect(await told({ Authorization: service.api_key })).toBe('must be the word Bearer, a space and the API key')
  expect(await told({ Authorization: `Bearer ${'a'.repeat(40)}` })).toBe('is no API key that is valid now')
})

test('names the nearest path, and the form of the id of a network', async () => {
  const { raw } = await startTestService()
  const told = async (path: string, init = {}) =>
    ((await (await raw(path, init)).json()) as { details: FailureDetail[] }).details[0]?.message
  expect(await told('/api/v1/relayer/demo/transaction')).toBe(
    'there is no such path; the nearest path is /api/v1/relayers/demo/transactions',
  )
  expect(await told('/xmlrpc.php?a=1')).toBe('there is no such path; GET /docs lists all paths')
  expect(await told('/api/v1/networks/dead')).toBe('no network has this id')
  expect(await told('/api/v1/networks/local')).toBe('there is no local; did you mean evm:local?')
  expect(await told('/api/v1/networks/locl')).toBe('there is no locl; did you mean evm:local?')
  const ofPool = { method: 'POST', body: JSON.stringify({ network: 'evm:local', relayer_ids: ['demo'] }) }
  expect(await told('/api/v1/pools', ofPool)).toBe('no network has this name; did you mean local?')
  // A member that no alternative of the body has: those of all of them are known.
  const send = { method: 'POST', body: JSON.stringify({ to: `0x${'1'.repeat(40)}`, value: '1', cal: {} }) }
  expect(await told('/api/v1/relayers/demo/transactions', send)).toMatch(/call.*; did you mean call\?$/)
})
