/** A wallet's usual scrypt (n = 262144, r = 8, p = 1) takes 256 MiB and n*r*p = 2^21; the limit on work is twice that. */
const maxScryptBytes = 256 * 2 ** 20
const maxScryptBlockBytes = 2 ** 20
const maxScryptWork = 2 ** 22
const maxScryptParallelism = 16
/** 0.7 s (SHA-256) to 2 s (SHA-512) on a slow core. */
const maxPbkdf2Rounds = 5_000_000

/** Describes the parameter of a scrypt derivation (RFC 7914) that exceeds the limits; undefined when none does. */
export function scryptFault(n: number, r: number, p: number): string | undefined {
  if (p > maxScryptParallelism) return `scrypt with p = ${p} is too costly: p must be at most ${maxScryptParallelism}`
  if (128 * n * r > maxScryptBytes) {
    return `scrypt with 128*n*r = ${128 * n * r} bytes of memory is too costly: 128*n*r must be at most ${maxScryptBytes}`
  }
  if (128 * r * p > maxScryptBlockBytes) {
    return `scrypt with 128*r*p = ${128 * r * p} bytes of memory is too costly: 128*r*p must be at most ${maxScryptBlockBytes}`
  }
  if (n * r * p > maxScryptWork)
    return `scrypt with n*r*p = ${n * r * p} is too costly: n*r*p must be at most ${maxScryptWork}`
  return undefined
}

/** The same as `scryptFault` for PBKDF2 (RFC 8018). */
export function pbkdf2Fault(rounds: number): string | undefined {
  return rounds > maxPbkdf2Rounds
    ? `pbkdf2 with c = ${rounds} is too costly: c must be at most ${maxPbkdf2Rounds}`
    : undefined
}

/** What is wrong with a document. `place`: a path in it. */
export interface KeystoreFault {
  place: readonly string[]
  reason: string
}

/** The bytes of the members that hold hexadecimal digits. undefined: any number. */
const hexMembers = [
  { place: ['crypto', 'ciphertext'], bytes: 32, note: ', those of the encrypted key' },
  { place: ['crypto', 'mac'], bytes: 32, note: '' },
  { place: ['crypto', 'cipherparams', 'iv'], bytes: 16, note: '' },
  { place: ['crypto', 'kdfparams', 'salt'], bytes: undefined, note: '' },
]

/**
 * Checks the digits and the cost of a Web3 Secret Storage document before any work. Names in any case and integers as text are accepted,
 * as ethers does. The worker checks the parameters again before it derives the key.
 */
export function keystoreFault(document: object): KeystoreFault | undefined {
  for (const { place, bytes, note } of hexMembers) {
    const value = place.reduce<unknown>(field, document)
    const isHex = typeof value === 'string' && /^(?:[0-9a-fA-F]{2})*$/.test(value)
    if (isHex && (bytes === undefined || value.length === 2 * bytes)) continue
    const size = bytes === undefined ? 'pairs of hexadecimal digits' : `${2 * bytes} hexadecimal digits`
    return { place, reason: `must be ${size} without 0x${note}` }
  }
  const cost = costFault(field(document, 'crypto'))
  return cost === undefined ? undefined : { place: ['crypto', 'kdfparams'], reason: cost }
}

function costFault(crypto: unknown): string | undefined {
  const parameters = field(crypto, 'kdfparams')
  const number = (name: string) => Number(field(parameters, name))
  switch (String(field(crypto, 'kdf')).toLowerCase()) {
    case 'scrypt':
      return scryptFault(number('n'), number('r'), number('p'))
    case 'pbkdf2':
      return pbkdf2Fault(number('c'))
    default:
      return undefined
  }
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1]
}
