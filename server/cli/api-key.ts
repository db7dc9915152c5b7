import { parseArgs } from 'node:util'
import type { CreateApiKeyRequest } from '../../generated/openapi.ts'
import { apiKeys } from '../api/handlers/api-keys.ts'
import { readContract } from '../api/http/contract.ts'
import { schemaCheck } from '../api/http/schema-check.ts'
import { openVault } from '../app/open-vault.ts'
import { type Config, readConfig } from '../config.ts'
import { serviceAccess } from '../domain/node-access.ts'
import type { OperationId } from '../domain/operation.ts'
import type { PendingAuditEntry, RightsFault } from '../domain/rows.ts'
import { createKeyEncryption } from '../keys/key-encryption.ts'
import { readMasterKey } from '../keys/read-secrets.ts'
import { makeId } from '../lib/ids.ts'
import { openPostgresStore } from '../store/postgres.ts'
import { openSqliteStore } from '../store/sqlite.ts'
import type { Store } from '../store/store.ts'
import type { StoreWorld } from '../store/store-dependencies.ts'
import { explain, requireDatabase } from './command.ts'

/*
 * Manages API keys in the database of a service that has started once. The service may run or not; a running one applies every
 * change at once. Only the token goes to standard output; all other text goes to standard error.
 */
const usage = `Usage:
  npm run api-key -- create --name NAME --scope SCOPE [--scope SCOPE ...]
      [--relayer ID ...] [--cidr NETWORK ...] [--per-second N --burst N] [--expires TIME]
  npm run api-key -- list
  npm run api-key -- rotate ID [--former-valid-seconds N]
  npm run api-key -- revoke ID
Scopes: sign, send, read, notifications, manage.
`

const options = {
  name: { type: 'string' },
  scope: { type: 'string', multiple: true },
  relayer: { type: 'string', multiple: true },
  cidr: { type: 'string', multiple: true },
  'per-second': { type: 'string' },
  burst: { type: 'string' },
  expires: { type: 'string' },
  'former-valid-seconds': { type: 'string' },
} as const

type Options = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']

class UsageError extends Error {}

// Only this user may read the database, even if this command creates it.
process.umask(0o077)
try {
  await run()
} catch (error) {
  process.stderr.write(`${error instanceof UsageError ? `${error.message}\n${usage}`.trim() : explain(error)}\n`)
  process.exitCode = 1
}

async function run(): Promise<void> {
  const { values, positionals } = readArguments()
  const [command, id = ''] = positionals
  const contract = readContract()
  const config = readConfig(process.env)
  await requireDatabase(config)
  const secrets = readMasterKey(config)
  for (const warning of secrets.warnings) process.stderr.write(`Warning: ${warning}.\n`)
  const world = { makeId, checkEvent: schemaCheck(contract, 'Event') }
  const store = await openStore(config, world)
  const keyEncryption = config.key_encryption_key && createKeyEncryption(config.key_encryption_key, config.vault)
  const warn = ({ table, id, reason }: RightsFault) => {
    process.stderr.write(`Warning: row refused in ${table} (${id ?? 'unknown'}: ${reason}).\n`)
  }
  const caller = {
    id: 'command line',
    roles: new Set<string>(),
    relayer_ids: undefined,
    pool_ids: new Set<string>(),
    rate_limit: null,
  }
  const handlers = apiKeys({ store, makeId, now: store.now })
  const request = (operation: OperationId, result = 200) => {
    const who = { caller: caller.id, relayer_id: null, request_id: null }
    const auditEntry: PendingAuditEntry = {
      ...who,
      at: store.now(),
      operation,
      subject: id || null,
      result,
      recorded: false,
    }
    const beginAudit = () => {
      throw new Error('A command carries out one operation')
    }
    return {
      ...{
        query: undefined as never,
        header: undefined as never,
        idempotency: undefined,
        caller,
        auditEntry,
        beginAudit,
      },
      ...{
        authorize: async () => caller,
        nodes: serviceAccess(),
        holdAnswer: () => {},
        onClose: () => {},
        hasLeft: () => false,
      },
    }
  }
  const path = { api_key_id: id }

  try {
    await openVault(store, secrets, warn, keyEncryption)
    if (command === 'create') {
      const body = readKey(values)
      const wrong = schemaCheck(contract, 'CreateApiKeyRequest')(body)
      if (wrong !== undefined) throw new UsageError(wrong)
      const data = await handlers.createApiKey({ ...request('createApiKey', 201), path: undefined as never, body })
      show(data.token, `API key ${data.api_key.id} (${body.name}). Its token is shown this once:`)
    } else if (command === 'list') {
      for (const { id, name, scopes, relayer_ids, expires_at, last_used_at } of await store.apiKeys()) {
        const told = [id, name, scopes.join(','), relayer_ids?.join(',') ?? 'all relayers']
        process.stdout.write(
          `${[...told, `expires ${expires_at ?? 'never'}, last used ${last_used_at ?? 'never'}`].join('  ')}\n`,
        )
      }
    } else if (command === 'rotate' && id) {
      const body = values['former-valid-seconds']
        ? { former_valid_seconds: readNumber(values['former-valid-seconds'], '--former-valid-seconds') }
        : {}
      const wrong = schemaCheck(contract, 'RotateApiKeyRequest')(body)
      if (wrong !== undefined) throw new UsageError(wrong)
      const data = await handlers.rotateApiKey({ ...request('rotateApiKey'), path, body })
      show(
        data.token,
        `API key ${id}: the previous token is accepted until ${data.api_key.former_valid_until ?? 'now'}.`,
      )
    } else if (command === 'revoke' && id) {
      await handlers.deleteApiKey({ ...request('deleteApiKey'), path, body: undefined })
      process.stderr.write(`API key ${id} is revoked.\n`)
    } else {
      throw new UsageError('')
    }
  } finally {
    await store.close()
  }
}

async function openStore({ database }: Config, world: StoreWorld): Promise<Store> {
  return database.type === 'sqlite' ? openSqliteStore(database.file, world) : openPostgresStore(database, world)
}

function readArguments() {
  try {
    return parseArgs({ options, allowPositionals: true })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function readKey(values: Options): CreateApiKeyRequest {
  const { name = '', scope = [], relayer, cidr, expires, burst } = values
  const perSecond = values['per-second']
  const hasRate = perSecond !== undefined || burst !== undefined
  return {
    name,
    scopes: scope as CreateApiKeyRequest['scopes'],
    ...(relayer && { relayer_ids: relayer }),
    ...(cidr && { allowed_cidrs: cidr }),
    ...(expires !== undefined && { expires_at: expires }),
    ...(hasRate && {
      rate_limit: { per_second: readNumber(perSecond, '--per-second'), burst: readNumber(burst, '--burst') },
    }),
  }
}

function readNumber(text: string | undefined, option: string): number {
  if (text === undefined || !/^[0-9]{1,9}$/.test(text))
    throw new UsageError(`${option} must be a whole number, for example 10`)
  return Number(text)
}

function show(token: string, words: string): void {
  process.stderr.write(`${words}\n`)
  process.stdout.write(`${token}\n`)
}
