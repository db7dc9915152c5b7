import { expect, test } from 'vitest'
import { exchange, json } from '../../support/raw-http.ts'
import { bad, type Case, expectRefused, get, missing, planted, withBody } from '../../support/refusals.ts'
import { startTestService } from '../../support/service.ts'

const maxBodyBytes = 1024 * 1024

const post = (body: string | Buffer, headers?: string[]) => withBody('POST /api/v1/notifications', body, headers)
const untyped = (name: string, send: Case['send'], at: string): Case => ({ ...bad(name, send, at), status: 415 })

test('rejects bodies that are not JSON or violate the contract', async () => {
  const url = 'https://example.com/'
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  await expectRefused(await startTestService(), [
    bad('nothing', post(''), '/body'),
    bad('cut off', post(`{"url":"${url}"`), '/body'),
    bad('two documents', post(`{"url":"${url}"}{}`), '/body'),
    bad('single quotes', post(`{'url':'${url}'}`), '/body'),
    bad('null', post('null'), '/body'),
    bad('a list', post(`[{"url":"${url}"}]`), '/body'),
    bad('a text', post(`"${url}"`), '/body'),
    bad('a number', post('1'), '/body'),
    bad('a missing field', post('{"id":"a"}'), '/body/url'),
    bad('a wrong type', post('{"url":1}'), '/body/url'),
    bad('null for a text', post('{"url":null}'), '/body/url'),
    bad('an unknown field', post(`{"url":"${url}","extra":1}`), '/body/extra'),
    bad('__proto__', post(`{"url":"${url}","__proto__":{"id":"a"}}`), '/body/__proto__'),
    bad('__proto__ alone', post(`{"__proto__":{"url":"${url}"}}`), '/body/url'),
    bad(
      'an integer past 2^53 for a text',
      post(`{"url":"${url}","signing_key":12345678901234567890}`),
      '/body/signing_key',
    ),
    bad('an integer past 2^53 for an id', post(`{"url":"${url}","id":9007199254740993}`), '/body/id'),
    bad('a lone surrogate', post(`{"url":"${url}","signing_key":"\\ud800"}`), '/body/signing_key'),
    bad('a field twice', post(`{"url":"${url}","url":"${url}"}`), '/body/url'),
    bad('a field twice, once escaped', post(`{"url":"${url}","\\u0075rl":"${url}"}`), '/body/url'),
    bad('a lone surrogate in a name', post(`{"url":"${url}","\\udfff":1}`), '/body'),
    bad('bytes that are no UTF-8', post(Buffer.from(`{"url":"${url}","signing_key":"\xff"}`, 'latin1')), '/body'),
    bad('UTF-16', post(Buffer.from(`{"url":"${url}"}`, 'utf16le')), '/body'),
    bad('an id with a slash', post(`{"url":"${url}","id":"a/b"}`), '/body/id'),
    bad('an id of two dots', post(`{"url":"${url}","id":".."}`), '/body/id'),
    bad('an id that is too long', post(`{"url":"${url}","id":"${'x'.repeat(129)}"}`), '/body/id'),
    bad('a URL with a password', post('{"url":"https://u:p@example.com/"}'), '/body/url'),
    bad('another scheme', post('{"url":"ftp://example.com/"}'), '/body/url'),
    bad(
      'a key of 31 bytes',
      withBody('POST /api/v1/signers', `{"type":"plain","config":{"key":"${planted}"}}`),
      '/body/config/key',
    ),
    bad(
      'arrays a hundred thousand deep in a keystore',
      withBody('POST /api/v1/signers', `{"type":"keystore","config":{"keystore":{"a":${deep}},"passphrase":""}}`),
      '/body',
    ),
  ])
})

test('rejects bodies of the wrong size, type or encoding', async () => {
  const body = '{"url":"https://example.com/"}'
  const large = Buffer.alloc(maxBodyBytes + 1, ' ')
  const chunked = Buffer.from(`${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`)
  const length = `Content-Length: ${body.length}`
  const tooLarge = (name: string, send: Case['send']): Case => ({ ...bad(name, send, '/body'), status: 413 })
  const ofType = (type: string) => post(body, [`Content-Type: ${type}`, length])
  await expectRefused(await startTestService(), [
    tooLarge('too large, and says so', post(large)),
    tooLarge(
      'too large, and nothing of it sent yet',
      post('', ['Content-Type: application/json', 'Content-Length: 999999999']),
    ),
    tooLarge('too large, in chunks', post(chunked, ['Content-Type: application/json', 'Transfer-Encoding: chunked'])),
    untyped('no type', post(body, [length]), '/headers/content-type'),
    untyped('an empty type', ofType(''), '/headers/content-type'),
    untyped('a form', ofType('application/x-www-form-urlencoded'), '/headers/content-type'),
    untyped('nearly JSON', ofType('application/jsonx'), '/headers/content-type'),
    untyped('a merge patch', ofType('application/merge-patch+json'), '/headers/content-type'),
    untyped('latin1', ofType('application/json; charset=latin1'), '/headers/content-type'),
    untyped('gzip', post(body, [...json(body), 'Content-Encoding: gzip']), '/headers/content-encoding'),
  ])
})

test('accepts a body of exactly 1 MiB', async () => {
  const { url, api_key } = await startTestService()
  const body = `{"message":"${'x'.repeat(maxBodyBytes - 14)}"}`
  const answer = await exchange(url, withBody('POST /api/v1/relayers/demo/sign', body)(api_key))
  expect(answer.status).toBe(200)
})

test('rejects invalid query parameters and ids', async () => {
  const list = (query: string) => get(`/api/v1/notifications?${query}`)
  const relayer = (id: string) => get(`/api/v1/relayers/${id}`)
  await expectRefused(await startTestService(), [
    ...['page=1&page=2', 'page=', 'page', 'page=-1', 'page=%2B1', 'page=1.0', 'page=1e2', 'page=0x10'].map((query) =>
      bad(query, list(query), '/query/page'),
    ),
    ...['9007199254740992', '99999999999999999999', '1%00', '%D9%A3', 'NaN'].map((value) =>
      bad(`per_page=${value}`, list(`per_page=${value}`), '/query/per_page'),
    ),
    bad('an unknown name', list('pages=1'), '/query/pages'),
    bad('a name with brackets', list('page[]=1'), '/query/page[]'),
    bad('__proto__', list('__proto__=1'), '/query/__proto__'),
    ...['%00', 'demo%00', 'a%0Ab', '%7f', '%C2%85', 'x'.repeat(129)].map((id) =>
      bad(id, relayer(id), '/path/relayer_id'),
    ),
    ...['%zz', '%', '%ff', '%C0%80', '%ed%a0%80'].map((id) => bad(id, relayer(id), '/path')),
    missing('%2F', relayer('a%2Fb'), 'Relayer with ID a/b not found'),
    missing('..', relayer('..'), 'Relayer with ID .. not found'),
    missing('__proto__', relayer('__proto__'), 'Relayer with ID __proto__ not found'),
    missing('128 characters', relayer('x'.repeat(128)), `Relayer with ID ${'x'.repeat(128)} not found`),
    missing('of another kind', get('/api/v1/notifications/demo'), 'Notification not found'),
    missing('to sign with', withBody('POST /api/v1/relayers/none/sign', '{"message":""}'), 'Not found'),
  ])
})

const unknown = 'Relayer with ID none not found'
const relayer = '/api/v1/relayers/demo'
const transactions = `${relayer}/transactions`

test('rejects an invalid transaction or time, and names the member', async () => {
  const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
  const send = (name: string, members: string, at: string) =>
    bad(name, withBody(`POST ${transactions}`, `{"to":"${to}",${members}}`), at)
  const keyed = (name: string, ...lines: string[]) => {
    const body = `{"to":"${to}","value":"1"}`
    const headers = [...json(body), ...lines.map((line) => `Idempotency-Key: ${line}`)]
    return bad(name, withBody(`POST ${transactions}`, body, headers), '/headers/idempotency-key')
  }
  const list = (query: string, name: string) => bad(query, get(`${transactions}/?${query}`), `/query/${name}`)
  const sign = (name: string, hex: string) =>
    bad(
      name,
      withBody(`POST ${relayer}/sign-transaction`, `{"unsigned_transaction":"${hex}"}`),
      '/body/unsigned_transaction',
    )
  await expectRefused(await startTestService(), [
    send('a value that is no number', '"value":"0x10"', '/body/value'),
    send('a value of true', '"value":true', '/body/value'),
    send('a value of 79 digits', `"value":${'9'.repeat(79)}`, '/body/value'),
    send('a price below nothing', '"value":"1","gas_price":-1', '/body/gas_price'),
    send('a fraction of gas', '"value":"1","gas_limit":21000.5', '/body/gas_limit'),
    send('a time in words', '"value":"1","valid_until":"tomorrow"', '/body/valid_until'),
    ...[
      '2026-01-01 00:00:00Z',
      '2026-01-01\\n00:00:00Z',
      '2026-01-01\\t00:00:00Z',
      '2026-01-01T00:00:00+0100',
      '2026-02-29T00:00:00Z',
      '2026-01-01T00:00:00+24:00',
    ].map((time) => send(time, `"value":"1","valid_until":"${time}"`, '/body/valid_until')),
    ...['2026-01-01%2000:00:00Z', '2026-01-01%0A00:00:00Z', '2026-01-01T00:00:00%2B0100'].map((time) =>
      list(`created_after=${time}`, 'created_after'),
    ),
    send('a leap second', '"value":"1","valid_until":"2016-12-31T23:59:60Z"', '/body/valid_until'),
    send('a nonce of its own', '"value":"1","nonce":7', '/body/nonce'),
    bad('no transaction', withBody(`POST ${transactions}`, '[]'), '/body'),
    keyed('an empty key', ''),
    keyed('an empty key in quotes', '""'),
    keyed('an open quote', '"a'),
    keyed('a space', 'a b'),
    keyed('a list', 'a, b'),
    keyed('a key twice', 'a', 'a'),
    keyed('a key beyond ASCII', '\xe9'),
    keyed('a key of 256 characters', 'x'.repeat(256)),
    ...['status=lost', 'status=', 'status=pending&status=lost', 'status=pending,sent'].map((query) =>
      list(query, query.startsWith('status=pending&') ? 'status/1' : query === 'status=' ? 'status' : 'status/0'),
    ),
    list(Array.from({ length: 9 }, () => 'status=sent').join('&'), 'status'),
    ...['yesterday', '2026-01-01', '2026-01-01T00:00:00', '2026-02-30T00:00:00Z', '2016-12-31T23:59:60Z'].map((time) =>
      list(`created_after=${time}`, 'created_after'),
    ),
    list('created_before=2026-01-01T00:00:00Z&created_before=2026-01-01T00:00:00Z', 'created_before'),
    bad('wait=forever', withBody(`POST ${transactions}?wait=forever`, '{"value":"1"}'), '/query/wait'),
    bad('wait_seconds=61', withBody(`POST ${transactions}?wait_seconds=61`, '{"value":"1"}'), '/query/wait_seconds'),
    ...['x', '-1', '1e2', '0x1', '%20', '1'.repeat(17)].map((nonce) =>
      bad(`nonce ${nonce}`, get(`${transactions}/by-nonce/${nonce}`), '/path/nonce'),
    ),
    bad('%00 in the id of a transaction', get(`${transactions}/%00`), '/path/transaction_id'),
    sign('no bytes', '0x'),
    sign('half a byte', '0x021'),
    sign('no transaction', '0x00'),
    sign('a type that is not signed here', `0x03${'c0'.repeat(4)}`),
    missing('an unknown transaction', get(`${transactions}/none`), 'Transaction with ID none not found'),
    missing('a nonce that is not used', get(`${transactions}/by-nonce/7`), 'Transaction with nonce 7 not found'),
    missing('a transaction of nobody', get('/api/v1/relayers/none/transactions/none'), unknown),
  ])
})

test('accepts a time in any form of RFC 3339', async () => {
  const { raw } = await startTestService()
  for (const time of ['2026-01-01T00:00:00Z', '2024-02-29t23:59:59.123456789z', '2026-01-01T00:00:00-23:59']) {
    const answer = await raw(`${transactions}/?created_after=${encodeURIComponent(time)}`)
    expect([time, answer.status]).toEqual([time, 200])
    await answer.body?.cancel()
  }
})
