import { expect, test } from 'vitest'
import { readConfig } from '../../server/config.ts'
import { ConfigError } from '../../server/domain/errors.ts'

const arn = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab'
const google = 'projects/p-1/locations/europe-west3/keyRings/relayers/cryptoKeys/master_key'

test.each([
  ['aws-kms:alias/relayer', { name: 'aws-kms:alias/relayer', service: 'aws-kms', key_id: 'alias/relayer' }],
  [`aws-kms:${arn}`, { name: `aws-kms:${arn}`, service: 'aws-kms', key_id: arn, region: 'eu-central-1' }],
  [
    'aws-kms:alias/a?region=us-east-1&endpoint=https://kms.example.com',
    {
      ...{ name: 'aws-kms:alias/a', service: 'aws-kms', key_id: 'alias/a' },
      ...{ region: 'us-east-1', endpoint: 'https://kms.example.com' },
    },
  ],
  [`gcp-kms:${google}`, { name: `gcp-kms:${google}`, service: 'gcp-kms', key: google }],
  ['vault:transit/relayer', { name: 'vault:transit/relayer', service: 'vault', mount: 'transit', key: 'relayer' }],
  ['vault:team/transit/a', { name: 'vault:team/transit/a', service: 'vault', mount: 'team/transit', key: 'a' }],
])('accepts MASTER_KEY=%s as a key in a key service', (MasterKey, key) => {
  expect(readConfig({ MASTER_KEY: MasterKey })).toMatchObject({ master_key: undefined, key_encryption_key: key })
})

test.each([
  ...[
    'aws-kms:',
    'aws-kms:a b',
    'aws-kms:hunter2?profile=x',
    'aws-kms:a?endpoint=ftp://hunter2',
    'aws-kms:a?region=A/B',
  ],
  ...['gcp-kms:hunter2', `gcp-kms:${google}/cryptoKeyVersions/1`, `gcp-kms:${google}?region=x`, 'azure:hunter2/a'],
  ...['vault:hunter2', 'vault:../hunter2', 'vault:transit/..', 'vault:transit/a?x=1', 'vault:/a', 'vault:a/'],
])('rejects MASTER_KEY=%s, and the message shows the forms and not the value', (MasterKey) => {
  const read = () => readConfig({ MASTER_KEY: MasterKey })
  expect(read).toThrow(ConfigError)
  expect(read).toThrow(/^MASTER_KEY must be 32 bytes.*aws-kms:KEY-ID.*gcp-kms:projects.*vault:MOUNT\/KEY$/)
  expect(read).not.toThrow(/hunter2/)
})

test('accepts an AppRole or a token as credentials for Vault', () => {
  const VaultAddr = 'https://vault.example.com:8200'
  const of = (settings: Record<string, string>) => readConfig(settings).vault
  const server = { url: VaultAddr, namespace: 'team' }
  expect(of({ VAULT_ADDR: VaultAddr, VAULT_NAMESPACE: 'team', VAULT_TOKEN: 't' })).toEqual({ ...server, token: 't' })
  expect(
    of({ VAULT_ADDR: VaultAddr, VAULT_NAMESPACE: 'team', VAULT_ROLE_ID: 'r', VAULT_SECRET_ID: 's', VAULT_TOKEN: 't' }),
  ).toEqual({ ...server, role_id: 'r', secret_id: 's' })
  for (const incomplete of [
    { VAULT_TOKEN: 't' },
    { VAULT_ADDR: VaultAddr },
    { VAULT_ADDR: VaultAddr, VAULT_ROLE_ID: 'r' },
  ]) {
    expect(of(incomplete)).toBeUndefined()
  }
})
