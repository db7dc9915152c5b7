import fc, { type Arbitrary } from 'fast-check'

/** Stands for arrays in arrays, deeper than a walk by recursion can go; JSON.stringify itself is such a walk. */
export const deep = '<deep>'
const deepText = `${'['.repeat(30_000)}${']'.repeat(30_000)}`

/** Writes a value down; numbers and text that JSON.stringify cannot write come from `rawJson`. */
export const toJson = (value: unknown): string => (JSON.stringify(value) ?? 'null').replaceAll(`"${deep}"`, deepText)

const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): object }

/** Values that have broken services. */
export const nasty: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, -0, -1, 1.5, '', ' ', '0', '-1', '1e3', '0x', 'null', '__proto__'),
  // Frozen, because all requests share these objects and a mutation must not change them.
  fc.constantFrom(Object.freeze({}), Object.freeze([])),
  fc.constantFrom(2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 1e21, 1e308, 5e-324),
  fc
    .constantFrom('9007199254740993', '12345678901234567890', '-99999999999999999999', '1e400', '-1e400', '1.0', '1e2')
    .map(rawJson),
  fc.constantFrom(`1${'0'.repeat(400)}`, '"\\ud800"', '"a\\udc00b"', '"\\u0000"', '"\\ud83d\\ude00"').map(rawJson),
  fc.constantFrom('\0', 'a\0b', '\n\r', '\u202e', '\ufeff', 'é', '💥', "' OR 1=1 --", '../../etc/passwd', deep),
  fc.constantFrom(
    'javascript:alert(1)',
    'file:///etc/passwd',
    'http://',
    'http://a b/',
    'http://u:p@h/',
    'HTTP://[::1',
  ),
  fc.nat(3_000).map((length) => 'x'.repeat(length)),
  fc.nat(300).map((depth) => rawNest(depth)),
  fc.constantFrom('{"__proto__":{"paused":false}}', '{"constructor":{"prototype":{}}}').map((text) => JSON.parse(text)),
  fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 30 }),
  fc.jsonValue(),
  fc.string({ unit: 'binary' }),
)

function rawNest(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

const nastyKey = fc.constantFrom(
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '',
  ' ',
  '$ref',
  'extra',
  '\0',
  'id',
)

type Kind = 'replace' | 'remove' | 'add' | 'wrap' | 'stretch'
type Mutation = { at: number; kind: Kind; value: unknown; key: string }

export const kinds: Kind[] = ['replace', 'replace', 'remove', 'add', 'wrap']

/** `stretch` is not in `kinds` and is applied last: a mutation of stretched values would make bodies of many megabytes. */
export const mutation = (...from: Kind[]): Arbitrary<Mutation> =>
  fc.record({ at: fc.nat(), kind: fc.constantFrom(...from), value: nasty, key: nastyKey })

/** Changes the value at one place of the tree, the root among them. */
export function mutate(root: unknown, { at, kind, value, key }: Mutation): unknown {
  const holder = { root }
  const places: [container: Record<string, unknown>, key: string][] = []
  const walk = (container: Record<string, unknown>) => {
    for (const name of Object.keys(container)) {
      places.push([container, name])
      const inner = container[name]
      if (places.length < 1_000 && isContainer(inner)) walk(inner)
    }
  }
  walk(holder)
  const [container, name] = places[at % places.length] as (typeof places)[0]
  const old = container[name]
  if (kind === 'remove' && container !== holder) delete container[name]
  else if (kind === 'add' && isContainer(old)) put(old, key, value)
  else if (kind === 'wrap') put(container, name, [old])
  else if (kind === 'stretch') put(container, name, stretched(old))
  else put(container, name, value)
  return holder.root
}

const isContainer = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Object.isFrozen(value)

/** As JSON.parse does it: `__proto__` becomes a property like any other. */
const put = (container: object, key: string, value: unknown) =>
  Object.defineProperty(container, key, { value, enumerable: true, configurable: true, writable: true })

function stretched(value: unknown): unknown {
  if (typeof value === 'number') return rawJson(`${value < 0 ? '-' : ''}${'98765'.repeat(5)}`)
  // Over every bound of the contract, and still far below the limit of a body.
  const copies = Math.min(2_000, Math.ceil(100_000 / (toJson(value).length + 1)))
  if (typeof value === 'string') return value.repeat(copies)
  if (Array.isArray(value)) return Array.from({ length: copies }, () => value).flat()
  return rawNest(40)
}
