import { expect } from 'vitest'
import type { TestService } from './service.ts'
import { storedBytes } from './service-database.ts'

/** Every form in which a secret might be written down by mistake. */
const formsOf = (secret: Uint8Array): Buffer[] => {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  // Without padding and without the last characters, which depend on the bytes that follow.
  const base64 = bytes.toString('base64').slice(0, -4)
  return [
    bytes,
    ...[hex, hex.toUpperCase(), base64, bytes.toString('base64url').slice(0, -4)].map((text) => Buffer.from(text)),
  ]
}

/**
 * Fails when the secret stands in any file of the data folder (the database, its log) or in any line of the service's log.
 * `witness`: text that the database must contain, which shows that the search reads the right bytes.
 */
export async function expectKept(
  { data_dir, logged }: TestService,
  secret: Uint8Array,
  witness: string,
): Promise<void> {
  const files = await storedBytes({ data_dir })
  expect(Buffer.concat(files.map(([, bytes]) => bytes)).includes(witness), `${witness} is in the database`).toBe(true)
  const log = Buffer.from(logged.join(''))
  for (const form of formsOf(secret)) {
    for (const [name, bytes] of files) expect(bytes.includes(form), `the secret is in ${name}`).toBe(false)
    expect(log.includes(form), 'the secret is in the log').toBe(false)
  }
}
