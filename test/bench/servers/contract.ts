import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { signing } from '../../../server/api/handlers/signing.ts'
import { createApp } from '../../../server/api/http/app.ts'
import { Audit } from '../../../server/api/http/audit.ts'
import { Authentication } from '../../../server/api/http/authentication.ts'
import { mountContract } from '../../../server/api/http/contract.ts'
import { LocalRateLimit } from '../../../server/api/http/rate-limit.ts'
import { listen } from '../../../server/api/http/server.ts'
import { Shares } from '../../../server/api/http/shares.ts'
import type { Handlers } from '../../../server/domain/operation.ts'
import type { RelayerRow } from '../../../server/domain/rows.ts'
import type { Keyring } from '../../../server/keys/keyring.ts'
import { localSigner } from '../../../server/keys/secp256k1.ts'
import type { Store } from '../../../server/store/store.ts'
import { apiKey } from '../processes.ts'
import { key } from '../stage.ts'

// Our HTTP side with a contract of any size: `node contract.ts six` has the first six operations, `node contract.ts all` all.
// Only signing does its work.

const six = [
  ['post', '/api/v1/relayers/{relayer_id}/sign'],
  ['post', '/api/v1/relayers/{relayer_id}/sign-typed-data'],
  ['get', '/api/v1/relayers/{relayer_id}/transactions/'],
  ['post', '/api/v1/notifications'],
  ['get', '/api/v1/notifications'],
  ['patch', '/api/v1/notifications/{notification_id}'],
] as const

const file = join(import.meta.dirname, '..', '..', '..', 'generated', 'openapi.json')
const document = JSON.parse(readFileSync(file, 'utf8'))
if (process.argv[2] === 'six') document.paths = cut(document.paths)
const { operations } = await mountContract(document, pino())

const held = {
  relayer: { paused: false, policies: {} } as RelayerRow,
  signer: localSigner(Buffer.from(key.slice(2), 'hex')),
  on_address: [],
}
const signs = signing({
  keyring: { find: async () => held } as unknown as Keyring,
  observer: {},
  countCalls: notMeasured,
  store: {} as Store,
})
const elapsed = () => performance.now()
const app = createApp({
  known: { someIds: async () => [], relayerOfTransaction: async () => undefined },
  operations,
  handlers: { ...Object.fromEntries(operations.map(({ id }) => [id, notMeasured])), ...signs } as unknown as Handlers,
  authentication: new Authentication({
    api_key: apiKey,
    apiKey: async () => undefined,
    generation: async () => 1,
    now: Date.now,
    noteUse() {},
    trusted_proxies: [],
  }),
  rateLimit: new LocalRateLimit({ per_second: 1_000_000, burst: 10_000_000 }, elapsed),
  audit: await Audit.open({
    store: { async appendAudit() {}, auditHead: async () => ({ chain: 1, up_to: 0, hash: new Uint8Array(32) }) },
    now: Date.now,
    elapsed,
    logger: pino(),
  }),
  reference: [],
  bodyBytes: new Shares({ name: 'body_bytes', limit: 2 ** 26, each: 2 ** 26 }),
  answerBytes: new Shares({ name: 'answer_bytes', limit: 2 ** 26, each: 2 ** 26 }),
  callsFromPages: (_request, _response, next) => next(),
  keyConnections: { count() {} },
  streamPace: { waitMs: () => 0 },
  quiet: { noteRequest() {} },
  logger: pino(),
})
const { port } = await listen({
  listener: app,
  host: '127.0.0.1',
  port: 0,
  makeId: randomUUID,
  elapsed,
  ended() {},
})
process.once('SIGTERM', () => process.exit(0))
process.stdout.write(`http://127.0.0.1:${port} ${operations.length} operations\n`)

function cut(paths: Record<string, Record<string, unknown>>) {
  const kept: typeof paths = {}
  for (const [method, path] of six) {
    const { parameters, [method]: operation } = paths[path] ?? {}
    if (!operation) throw new Error(`The contract has no ${method} ${path}`)
    kept[path] = { ...(parameters ? { parameters } : {}), ...kept[path], [method]: operation }
  }
  return kept
}

function notMeasured(): never {
  throw new Error('Only signing is measured here')
}
