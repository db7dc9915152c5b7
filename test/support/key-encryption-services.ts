import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { rights } from '../../server/cli/rights.ts'
import { rotateMasterKey } from '../../server/cli/rotate-master-key.ts'
import { readConfig } from '../../server/config.ts'
import { readMasterKeySetting } from '../../server/domain/settings.ts'
import { dataRoot } from './data-root.ts'
import type { Encrypted } from './envelope.ts'
import { startFakeGoogleKms } from './fake-google-kms.ts'
import { awsCredentials, startFakeKms } from './fake-kms.ts'
import { type FakeVault, startFakeVault } from './fake-vault.ts'

/** A key service that encrypts master keys. */
export interface EncryptionService {
  /** Creates a key, and returns it as the setting MASTER_KEY names it. */
  addKey(): string
  /** What it encrypted so far. */
  encrypted: Encrypted[]
  /** Answers these calls with an error of permissions; of every name at once. */
  deny(operation: 'encrypt' | 'decrypt'): void
  permit(): void
  stop(): Promise<void>
  start(): Promise<void>
  /** Patterns of the messages of each failure. */
  words: { denied: RegExp; away: RegExp; damaged: RegExp; other_key: RegExp }
}

/** The fakes of all key services that encrypt, for the tests of a file, with their credentials in the environment. */
export function encryptionServices() {
  const services = {} as Record<'aws' | 'google' | 'vault', EncryptionService>
  const fakes = {} as { vault: FakeVault }
  /** The credentials, as settings of a command. */
  const credentials: Record<string, string> = {}
  const before: Record<string, string | undefined> = {}
  let folder = ''

  beforeAll(async () => {
    const [aws, google, vault] = await Promise.all([startFakeKms(), startFakeGoogleKms(), startFakeVault()])
    fakes.vault = vault
    folder = mkdtempSync(join(dataRoot, 'relayer-google-'))
    const account = join(folder, 'account.json')
    writeFileSync(account, JSON.stringify({ ...google.account, project_id: 'example' }))
    Object.assign(credentials, awsCredentials, {
      GOOGLE_APPLICATION_CREDENTIALS: account,
      VAULT_ADDR: vault.url,
      VAULT_ROLE_ID: vault.role_id,
      VAULT_SECRET_ID: vault.secret_id,
    })
    for (const [name, value] of Object.entries(credentials)) {
      before[name] = process.env[name]
      process.env[name] = value
    }
    services.aws = {
      ...aws,
      addKey: () => `aws-kms:${aws.addKey({ spec: 'SYMMETRIC_DEFAULT' })}?region=${aws.region}&endpoint=${aws.url}`,
      deny: (operation) => void aws.denied.add(operation === 'encrypt' ? 'Encrypt' : 'Decrypt'),
      permit: () => aws.denied.clear(),
      words: {
        denied: /AWS KMS answered AccessDeniedException, request [0-9a-f-]{36}: not authorized/,
        away: /AWS KMS refuses connections/,
        damaged: /AWS KMS answered InvalidCiphertextException/,
        other_key: /AWS KMS answered IncorrectKeyException/,
      },
    }
    services.google = {
      ...google,
      addKey: () => `gcp-kms:${google.addEncryptionKey()}?endpoint=${google.url}`,
      deny: (operation) => void google.denied.add(`:${operation}`),
      permit: () => google.denied.clear(),
      words: {
        denied: /Google Cloud KMS answered 403 PERMISSION_DENIED/,
        away: /Google Cloud KMS refuses connections/,
        damaged: /400 INVALID_ARGUMENT: Decryption failed: the ciphertext is invalid/,
        other_key: /400 INVALID_ARGUMENT: Decryption failed: the ciphertext is invalid/,
      },
    }
    services.vault = {
      ...vault,
      addKey() {
        const name = `master-${vault.transit.size}`
        vault.transit.set(name, randomBytes(32))
        return `vault:transit/${name}`
      },
      deny: (operation) => void vault.denied.add(operation),
      permit: () => vault.denied.clear(),
      words: {
        denied: /Vault answered 403: .*permission denied/,
        away: /Vault refuses connections/,
        damaged: /Vault answered 400: cipher: message authentication failed/,
        other_key: /Vault answered 400: cipher: message authentication failed/,
      },
    }
  })

  afterAll(async () => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    await Promise.all(Object.values(services).map(({ stop }) => stop().catch(() => undefined)))
    rmSync(folder, { recursive: true, force: true })
  })

  /** As `npm run rotate-master-key`. */
  const rotate = ({ NEW_MASTER_KEY, ...settings }: Record<string, string>) =>
    rotateMasterKey({
      config: readConfig({ ...credentials, ...settings }),
      new_key: NEW_MASTER_KEY === undefined ? undefined : readMasterKeySetting(NEW_MASTER_KEY),
    })

  /** Whether the settings decrypt the database, and all its rows are trusted. */
  const opens = (settings: Record<string, string>): Promise<boolean> =>
    rights(readConfig({ ...credentials, ...settings }), 'verify').then(
      () => true,
      (error) => {
        expect(error.message).toMatch(/MASTER_KEY|does not decrypt/)
        return false
      },
    )

  return { services, credentials, fakes, rotate, opens }
}
