import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  found,
  generate,
  receiver,
  runTypeScript,
  schemaNames,
  startCalls,
  unknownMethods,
  unknownModels,
  writeLater,
} from './generated-client.ts'

/** By the types alone: these clients have no code for bodies. */
const readEvents = `
const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'))
function handle(body: relayer.WebhookEvent): string | null {
  if (body.event !== 'transaction_update') return null
  return (body as unknown as relayer.TransactionUpdateEvent).payload.id
}
if (handle(read('delivery.json')) === null || handle(read('later-event.json')) !== null) throw new Error('event')
const later: relayer.TransactionResponse = read('later.json')
if (later.data.status !== 'resting') throw new Error(later.data.status)
`

const heyProgram = `
import { readFileSync } from 'node:fs'
import { client } from './relayer/client.gen'
import * as relayer from './relayer/index'

const [baseUrl, auth] = process.argv.slice(2) as [string, string]
client.setConfig({ baseUrl, auth })
const demo = { path: { relayer_id: 'demo' }, throwOnError: true } as const
const signed = await relayer.signMessage({ ...demo, body: { message: 'Hello' } })
console.log(signed.data.data.sig)
const headers = { 'Idempotency-Key': 'one' }
const sent = await relayer.sendTransaction({ ...demo, headers, body: { to: '${receiver}', value: '1' } })
console.log(sent.data.data.id)
if (sent.data.data.nonce !== 0) throw new Error(\`nonce \${sent.data.data.nonce}\`)
const call = { function: 'approve(address,uint256)', args: ['${receiver}', '1'] }
const called = await relayer.sendTransaction({ ...demo, body: { to: '${receiver}', call } })
console.log(called.data.data.id)
const listed = await relayer.listRelayers({ throwOnError: true })
console.log(listed.data.data[0]?.id)
const signer = await relayer.createSigner({ body: { type: 'generated', id: 'extra' }, throwOnError: true })
console.log(signer.data.data.type)
const ids = { id: 'extra', name: 'Extra', network: 'local', signer_id: 'extra' } as const
const extra = { ...ids, network_type: 'evm', paused: false, policies: { max_value: '5' } } as const
const made = (await relayer.createRelayer({ body: extra, throwOnError: true })).data.data
console.log(made.id, made.policies?.max_value)
const higher = { path: { relayer_id: 'extra' }, body: { policies: { max_value: '7' } }, throwOnError: true } as const
console.log('extra', (await relayer.updateRelayer(higher)).data.data.policies?.max_value)
const lifted = { path: { relayer_id: 'extra' }, body: { policies: { max_value: null } }, throwOnError: true } as const
console.log('extra', (await relayer.updateRelayer(lifted)).data.data.policies?.max_value ?? 'none')
const ops = { path: { notification_id: 'ops' } }
const filter: relayer.NotificationFilterInput = { statuses: ['confirmed'] }
const body = { id: 'ops', type: 'webhook', url: 'http://127.0.0.1:9', filter } as const
const created = await relayer.createNotification({ body, throwOnError: true })
console.log(created.data.data.filter?.statuses?.[0])
const changed = await relayer.updateNotification({ ...ops, body: { url: 'http://127.0.0.1:9/b' }, throwOnError: true })
console.log(changed.data.data.url)
const every = await relayer.updateNotification({ ...ops, body: { filter: null }, throwOnError: true })
console.log('filter', every.data.data.filter ?? 'none')
const deleted = await relayer.deleteNotification({ ...ops, throwOnError: true })
console.log('deleted', deleted.data.data.deleted)
const { error, response } = await relayer.getNotification(ops)
console.log(response?.status, error && 'code' in error ? error.code : '')
`

/** What it always makes. A type whose members are only written has a second type for the bodies that write them. */
const openapiTsOwn = ['ClientOptions', 'Webhooks']
const openapiTsEndings = 'Data|Errors?|Responses?|WebhookPayload|WebhookRequest|Writable'

test('openapi-ts: has every operation and schema, compiles and calls', async () => {
  const { output } = await generate('openapi-ts')
  const folder = join(output, '..')
  const methods = found(readFileSync(join(output, 'sdk.gen.ts'), 'utf8'), /^export const (\w+) =/gm)
  const models = found(readFileSync(join(output, 'types.gen.ts'), 'utf8'), /^export type (\w+) =/gm)
  expect(unknownMethods('openapi-ts', methods)).toEqual([])
  expect(schemaNames.filter((name) => !models.includes(name))).toEqual([])
  expect(unknownModels('openapi-ts', models, { endings: openapiTsEndings, own: openapiTsOwn })).toEqual([])
  writeLater(folder)
  const calls = await startCalls()
  await calls.expect(await runTypeScript(folder, heyProgram + readEvents, calls))
})

const orvalProgram = `
import { readFileSync } from 'node:fs'
import * as relayer from './relayer/relayer'

const options = { headers: { Authorization: \`Bearer \${process.argv[3]}\` } }
const signed = await relayer.signMessage('demo', { message: 'Hello' }, options)
if (signed.status !== 200) throw new Error(JSON.stringify(signed))
console.log(signed.data.data.sig)
const once = { headers: { ...options.headers, 'Idempotency-Key': 'one' } }
const sent = await relayer.sendTransaction('demo', { to: '${receiver}', value: '1' }, {}, once)
if (sent.status !== 201) throw new Error(JSON.stringify(sent))
console.log(sent.data.data.id)
const call = { function: 'approve(address,uint256)', args: ['${receiver}', '1'] }
const called = await relayer.sendTransaction('demo', { to: '${receiver}', call }, {}, options)
if (called.status !== 201) throw new Error(JSON.stringify(called))
console.log(called.data.data.id)
const listed = await relayer.listRelayers({}, options)
if (listed.status !== 200) throw new Error(JSON.stringify(listed))
console.log(listed.data.data[0]?.id)
const signer = await relayer.createSigner({ type: 'generated', id: 'extra' }, options)
if (signer.status !== 201) throw new Error(JSON.stringify(signer))
console.log(signer.data.data.type)
const ids = { id: 'extra', name: 'Extra', network: 'local', signer_id: 'extra' } as const
const extra = { ...ids, network_type: 'evm', paused: false, policies: { max_value: '5' } } as const
const made = await relayer.createRelayer(extra, options)
if (made.status !== 201) throw new Error(JSON.stringify(made))
console.log(made.data.data.id, made.data.data.policies?.max_value)
const higher = await relayer.updateRelayer('extra', { policies: { max_value: '7' } }, options)
if (higher.status !== 200) throw new Error(JSON.stringify(higher))
console.log('extra', higher.data.data.policies?.max_value)
const lifted = await relayer.updateRelayer('extra', { policies: { max_value: null } }, options)
if (lifted.status !== 200) throw new Error(JSON.stringify(lifted))
console.log('extra', lifted.data.data.policies?.max_value ?? 'none')
const filter: relayer.NotificationFilterInput = { statuses: ['confirmed'] }
const body = { id: 'ops', type: 'webhook', url: 'http://127.0.0.1:9', filter } as const
const created = await relayer.createNotification(body, options)
if (created.status !== 201) throw new Error(JSON.stringify(created))
console.log(created.data.data.filter?.statuses?.[0])
const changed = await relayer.updateNotification('ops', { url: 'http://127.0.0.1:9/b' }, options)
if (changed.status !== 200) throw new Error(JSON.stringify(changed))
console.log(changed.data.data.url)
const every = await relayer.updateNotification('ops', { filter: null }, options)
if (every.status !== 200) throw new Error(JSON.stringify(every))
console.log('filter', every.data.data.filter ?? 'none')
const deleted = await relayer.deleteNotification('ops', options)
if (deleted.status !== 200) throw new Error(JSON.stringify(deleted))
console.log('deleted', deleted.data.data.deleted)
const missing = await relayer.getNotification('ops', options)
console.log(missing.status, 'code' in missing.data ? missing.data.code : '')
`

/** It names a parameter and an answer of the contract so, and a member whose schema has the same name. */
const orvalEndings = 'Params|Body|Headers|[Rr]esponse(?:\\d{3}|Default|Success|Error)?|Parameter|Property'

test('orval: has every operation and schema, compiles and calls', async () => {
  const calls = await startCalls()
  const { output } = await generate('orval', { RELAYER_URL: calls.url })
  const folder = join(output, '..')
  const source = readFileSync(join(output, 'relayer.ts'), 'utf8')
  expect(unknownMethods('orval', found(source, /^export const (\w+) = async/gm))).toEqual([])
  const models = found(source, /^export (?:type|interface) (\w+)/gm)
  expect(schemaNames.filter((name) => !models.includes(name))).toEqual([])
  const own = models.filter((name) => name.startsWith('HTTPStatusCode'))
  expect(unknownModels('orval', models, { endings: orvalEndings, own })).toEqual([])
  writeLater(folder)
  await calls.expect(await runTypeScript(folder, orvalProgram + readEvents, calls))
})
