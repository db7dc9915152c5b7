import fc, { type Arbitrary } from 'fast-check'
import { type ContractOperation, parametersIn } from './contract.ts'
import { deep, toJson } from './mutation.ts'
import type { SchemaArbitrary } from './schema-arbitrary.ts'

/** The parts of a request, each of which can be replaced by a bad one. */
export interface Parts {
  method: string
  path: string
  search: string
  headers: Record<string, string | string[]>
  body?: string | Buffer | undefined
  /** Whether it carries the token as it should. */
  authorized: boolean
}

type Fault = Arbitrary<Partial<Parts>>

/** The operation's path with these ids in it. One that ends with a slash is served without it too. */
export function pathOf({ path }: ContractOperation, ids: string[], slash: boolean): string {
  const rest = [...ids]
  return path.replaceAll(/\{\w+\}/g, () => rest.shift() ?? '').replace(/\/$/, slash ? '/' : '')
}

const words = (text: string) => text.trim().split(/\s+/)
const lines = (text: string) => text.trim().split(/\n\s*/)

export const badMethod: Fault = fc
  .constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND')
  .map((method) => ({ method }))

const badIds = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '',
      ...words(String.raw`
        %00 a%00b %2F demo%2Fsign ..%2f..%2fhealth %0a %0D%0A %7f %c2%85 %1b[31m %zz % %e0%a4%a %ff %C0%80 %ed%a0%80 %25
        %252F %20 demo%20 DEMO %64emo . .. %2e %2e%2e * (.*) :id {relayer_id} a;b a\b <b> " | ' __proto__ constructor
        undefined null -1 %F0%9F%92%A9 %E2%80%AE`),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(127, 128, 129, 1_000, 7_000).map((length) => 'x'.repeat(length)) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1 }).map(encodeURIComponent) },
)

export function badPath(operation: ContractOperation): Fault {
  const ids = fc.array(badIds, { minLength: 3, maxLength: 3 })
  const ends = fc.constantFrom('', ...words('/ // /x /. /.. /%2e%2e/ %2F # /* ;a=b'))
  return fc
    .tuple(ids, fc.oneof({ weight: 9, arbitrary: fc.constant('') }, { weight: 1, arbitrary: ends }))
    .map(([given, end]) => ({ path: `${pathOf(operation, given, false)}${end}` }))
}

export function badSearch(operation: ContractOperation): Fault {
  const names = [...parametersIn(operation, 'query').map(({ name }) => name), 'page', '']
  const name = fc.constantFrom(...names, ...words('unknown __proto__ constructor page[] page[a] %zz'))
  const value = fc.oneof(
    fc.constantFrom('', ...words('0 1 -1 +1 1.0 1e2 0x10 1e400 NaN ٣ %00 % %201 true null 00000000000000001')),
    fc.constantFrom(...words('9007199254740991 9007199254740992 9007199254740993 99999999999999999999')),
    fc.string({ unit: 'binary' }).map(encodeURIComponent),
    fc.nat(2_000).map((length) => '9'.repeat(length)),
  )
  const pair = fc.tuple(name, value).map((both) => both.join('='))
  const pairs = fc.array(pair, { minLength: 1, maxLength: 4 }).map((all) => all.join('&'))
  const odd = fc.constantFrom('&&&', '?', 'page', 'page=1;per_page=2', 'page=1#2', 'page=1&'.repeat(150))
  return fc
    .oneof({ weight: 5, arbitrary: pairs }, { weight: 1, arbitrary: odd })
    .map((search) => ({ search: search.replaceAll(/[^!-~]/g, encodeURIComponent) }))
}

const contentTypes = fc.constantFrom<string | string[]>(
  ...['', ' ', `application/json; a=${'x'.repeat(3_000)}`],
  ...lines(`
    ;;;=;
    */*
    application/*
    application/jsonx
    application/json, application/json
    __proto__
    text/plain
    application/x-www-form-urlencoded
    multipart/form-data; boundary=x
    APPLICATION/JSON
    application/merge-patch+json
    application/json; charset
    application/json; charset=latin1
    application/json; charset=utf-16
    application/json;charset=utf-8;charset=x`),
  ['application/json', 'text/plain'],
)

export function badHeader(operation: ContractOperation): Fault {
  const declared = parametersIn(operation, 'header').map(({ name }) =>
    badValues.map((value): Partial<Parts> => ({ headers: { [name]: value } })),
  )
  return fc.oneof(
    { weight: 6, arbitrary: badCommonHeader },
    ...declared.map((arbitrary) => ({ weight: 12, arbitrary })),
  )
}

/** Of a header that the contract declares. */
const badValues = fc.oneof(
  fc.constantFrom<string | string[]>(
    ...[
      '',
      ' ',
      '"',
      '""',
      '" "',
      '"a',
      'a"',
      '"a"b"',
      'a b',
      'a,b',
      'a, b',
      '"a", "b"',
      'a\\b',
      '"a\\"b"',
      'a\tb',
      '\xe9',
    ],
    ...[254, 255, 256, 8_000].map((length) => 'x'.repeat(length)),
    ...[253, 254].map((length) => `"${'x'.repeat(length)}"`),
    ...[
      ['a', 'a'],
      ['a', 'b'],
    ],
  ),
  fc.string({ maxLength: 20 }),
)

const badCommonHeader: Fault = fc.oneof(
  contentTypes.map((type): Partial<Parts> => ({ headers: { 'Content-Type': type } })),
  fc
    .constantFrom('gzip', 'br', 'deflate', 'identity', 'IDENTITY', 'gzip, gzip', 'x', '')
    .map((encoding) => ({ headers: { 'Content-Encoding': encoding } })),
  fc
    .constantFrom('text/html', '*/*', 'application/xml;q=0.1', '')
    .map((accept) => ({ headers: { Accept: accept, 'X-HTTP-Method-Override': 'DELETE', 'X-Forwarded-For': '::1' } })),
  fc.constant({ headers: { Expect: '100-continue' } }),
)

export const badToken = (token: string): Fault =>
  fc
    .constantFrom<string | string[]>(
      ...['', 'Bearer', 'Bearer ', `Bearer\t${token}`, 'Bearer \u00ff\u00fe', `Bearer ${'a'.repeat(4_000)}`],
      ...lines(`
        Bearer ${token}x
        Bearer ${token.slice(1)}
        Bearer ${token} ${token}
        Bearer ${token},
        Bearer "${token}"
        Bearer, Bearer ${token}
        Bearer __proto__
        Basic ${token}
        NotBearer ${token}
        Token token=${token}
        ${token}`),
      [`Bearer ${token}`, `Bearer ${token}`],
      [`Bearer ${token}`, 'Bearer wrong'],
    )
    .map((value) => ({ headers: { Authorization: value }, authorized: false }))

/** Text that is no JSON, or JSON that is no body; and a good body with one value in it written over. */
export function badBody(operation: ContractOperation, schemas: SchemaArbitrary): Fault {
  const schema = Object.values(operation.bodies)[0]
  const good = schema ? schemas.valid(schema).map(toJson) : fc.constant('{"a":1}')
  const values = fc.constantFrom(
    toJson(deep),
    '"\t"',
    ...words(String.raw`1e400 NaN 01 "\ud800" 12345678901234567890 {"__proto__":1}`),
  )
  const overwritten = fc.tuple(good, fc.nat(), values).map(([text, at, value]) => {
    const found = [...text.matchAll(/(?<=:)(?:"(?:[^"\\]|\\.)*"|-?\d+|true|false|null|\{\}|\[\])/g)]
    const hit = found[at % found.length]
    return hit ? `${text.slice(0, hit.index)}${value}${text.slice(hit.index + hit[0].length)}` : value
  })
  const cut = fc.tuple(good, fc.nat()).map(([text, at]) => text.slice(0, at % text.length))
  const malformed = fc.constantFrom(
    ...['', ' ', '\0', '\ufeff{}', toJson(deep), '{"a":'.repeat(9_000)],
    ...words(
      `{ [ " null true 1 [] {} [{}] {'a':1} {"a":1,} {}{} undefined {"__proto__":{"paused":true}} {"id":"a","id":1}`,
    ),
    ...words('-- a=b&c=d <xml/> //{}'),
  )
  return fc
    .oneof(
      { weight: 30, arbitrary: overwritten },
      { weight: 10, arbitrary: cut },
      { weight: 30, arbitrary: malformed },
      { weight: 10, arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
      { weight: 10, arbitrary: good.map((text) => Buffer.from(text, 'utf16le')) },
      { weight: 1, arbitrary: fc.constantFrom(2 ** 20, 2 ** 20 + 1).map((bytes) => `"${'x'.repeat(bytes - 2)}"`) },
    )
    .map((body) => ({ body }))
}
