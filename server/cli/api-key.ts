import type { parseArgs } from 'node:util'
import type { CreateApiKeyRequest } from '../../generated/openapi.ts'
import { readContract } from '../api/http/contract.ts'
import { schemaCheck } from '../api/http/schema-check.ts'
import { openVault } from '../app/open-vault.ts'
import { type Config, readConfig } from '../config.ts'
import type { OperationId } from '../domain/operation.ts'
import type { PendingAuditEntry, RightsFault } from '../domain/rows.ts'
import { KeyEncryption } from '../keys/key-encryption.ts'
import { readMasterKey } from '../keys/read-secrets.ts'
import { makeId } from '../lib/ids.ts'
import { createApiKey, revokeApiKey, rotateApiKey } from '../services/api-keys.ts'
import { openPostgresStore } from '../store/postgres.ts'
import type { StoreWorld } from '../store/queries/database.ts'
import { openSqliteStore } from '../store/sqlite.ts'
import type { Store } from '../store/store.ts'
import { requireDatabase, runCommand, UsageError } from './command.ts'

/*
 * Manages API keys in the database of a service that has started once. The service may run or not; a running one applies every
 * change at once. Only the token goes to standard output; all other text goes to standard error.
 */
const usage = `Usage:
  npm run api-key -- create --name NAME --scope SCOPE [--scope SCOPE ...]
      [--relayer ID ...] [--cidr NETWORK ...] [--per-second N --burst N] [--budget JSON] [--expires TIME]
  npm run api-key -- list
  npm run api-key -- rotate ID [--previous-token-valid-seconds N]
  npm run api-key -- revoke ID
Scopes: sign, send, read, notifications, manage.`

const options = {
  name: { type: 'string' },
  scope: { type: 'string', multiple: true },
  relayer: { type: 'string', multiple: true },
  cidr: { type: 'string', multiple: true },
  'per-second': { type: 'string' },
  burst: { type: 'string' },
  budget: { type: 'string' },
  expires: { type: 'string' },
  'previous-token-valid-seconds': { type: 'string' },
} as const

type Options = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']

await runCommand({ usage, options }, ({ values, positionals: [command, id = ''] }) => run(command, id, values))

/** Resolves to what goes to standard output. */
async function run(command: string | undefined, id: string, values: Options): Promise<string> {
  const contract = readContract()
  const config = readConfig(process.env)
  await requireDatabase(config)
  const secrets = readMasterKey(config)
  for (const warning of secrets.warnings) process.stderr.write(`Warning: ${warning}.\n`)
  const world = { makeId, checkEvent: schemaCheck(contract, 'WebhookEvent') }
  const store = await openStore(config, world)
  const keyEncryption = config.key_encryption_key && new KeyEncryption(config.key_encryption_key, config.vault)
  const warn = ({ table, id, reason }: RightsFault) => {
    process.stderr.write(`Warning: row refused in ${table} (${id ?? 'unknown'}: ${reason}).\n`)
  }
  const context = { store, makeId, now: store.now }
  const auditEntryOf = (operation: OperationId, httpStatus = 200): PendingAuditEntry => ({
    ...{ caller: 'command_line', relayer_id: null, request_id: null, at: store.now() },
    ...{ operation, subject: id || null, http_status: httpStatus, recorded: false },
  })

  try {
    await openVault(store, secrets, warn, keyEncryption)
    if (command === 'create') {
      const body = readKey(values)
      const wrong = schemaCheck(contract, 'CreateApiKeyRequest')(body)
      if (wrong !== undefined) throw new UsageError(wrong)
      const { token, api_key } = await createApiKey(context, body, auditEntryOf('createApiKey', 201))
      process.stderr.write(`API key ${api_key.id} (${body.name}). Its token is shown this once:\n`)
      return token
    }
    if (command === 'list') {
      const lines: string[] = []
      for (const { id, name, scopes, relayer_ids, pool_ids, expires_at, last_used_at } of await store.apiKeys()) {
        const used = [...(relayer_ids ?? ['all relayers']), ...pool_ids.map((poolId) => `pool ${poolId}`)]
        const told = [id, name, scopes.join(','), used.join(',') || 'no relayer']
        lines.push([...told, `expires ${expires_at ?? 'never'}, last used ${last_used_at ?? 'never'}`].join('  '))
      }
      return lines.join('\n')
    }
    if (command === 'rotate' && id) {
      const body = values['previous-token-valid-seconds']
        ? {
            previous_token_valid_seconds: readNumber(
              values['previous-token-valid-seconds'],
              '--previous-token-valid-seconds',
            ),
          }
        : {}
      const wrong = schemaCheck(contract, 'RotateApiKeyRequest')(body)
      if (wrong !== undefined) throw new UsageError(wrong)
      const { token, api_key } = await rotateApiKey(context, id, body, auditEntryOf('rotateApiKey'))
      const until = api_key.previous_token_expires_at ?? 'now'
      process.stderr.write(`API key ${id}: the previous token is accepted until ${until}.\n`)
      return token
    }
    if (command === 'revoke' && id) {
      await revokeApiKey(context, id, { auditEntry: auditEntryOf('deleteApiKey') })
      process.stderr.write(`API key ${id} is revoked.\n`)
      return ''
    }
    throw new UsageError()
  } finally {
    await store.close()
  }
}

async function openStore({ database }: Config, world: StoreWorld): Promise<Store> {
  return database.type === 'sqlite' ? openSqliteStore(database.file, world) : openPostgresStore(database, world)
}

function readKey(values: Options): CreateApiKeyRequest {
  const { name = '', scope = [], relayer, cidr, expires, burst, budget } = values
  const perSecond = values['per-second']
  const hasRate = perSecond !== undefined || burst !== undefined
  return {
    name,
    scopes: scope as CreateApiKeyRequest['scopes'],
    ...(relayer && { relayer_ids: relayer }),
    ...(cidr && { allowed_cidrs: cidr }),
    ...(expires !== undefined && { expires_at: expires }),
    ...(budget !== undefined && { budget: readJson(budget) }),
    ...(hasRate && {
      rate_limit: { per_second: readNumber(perSecond, '--per-second'), burst: readNumber(burst, '--burst') },
    }),
  }
}

function readJson(text: string): NonNullable<CreateApiKeyRequest['budget']> {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError('--budget must be JSON, for example {"assets":[{"asset":"coin","max_amount_per_day":"10"}]}')
  }
}

function readNumber(text: string | undefined, option: string): number {
  if (text === undefined || !/^[0-9]{1,9}$/.test(text))
    throw new UsageError(`${option} must be a whole number, for example 10`)
  return Number(text)
}
