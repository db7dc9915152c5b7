import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/service.ts'
import {
  contract,
  inventedNames,
  operationIds,
  receiver,
  run,
  runTypeScript,
  schemaNames,
  startCalls,
} from './generated-client.ts'

/** A folder with the generator of this name and version. */
async function install(name: string, version: string) {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'package.json'), '{"type":"module","private":true}')
  const options = ['--no-audit', '--no-fund', '--silent', '--prefer-offline']
  await run('npm', ['install', ...options, `${name}@${version}`, 'typescript@5.9.3'], folder)
  return { folder, bin: (program: string) => join(folder, 'node_modules', '.bin', program) }
}

const exported = (source: string, pattern: RegExp) => [...source.matchAll(pattern)].map(([, name = '']) => name)

const heyProgram = `
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
const ops = { path: { notification_id: 'ops' } }
const created = { id: 'ops', type: 'webhook', url: 'http://127.0.0.1:9' } as const
await relayer.createNotification({ body: created, throwOnError: true })
const changed = await relayer.updateNotification({ ...ops, body: { url: 'http://127.0.0.1:9/b' }, throwOnError: true })
console.log(changed.data.data.url)
const deleted = await relayer.deleteNotification({ ...ops, throwOnError: true })
console.log('deleted', deleted.data.data.deleted)
const { error, response } = await relayer.getNotification(ops)
console.log(response?.status, error && 'code' in error ? error.code : '')
`

test('@hey-api/openapi-ts: generates every operation and schema, compiles and calls', async () => {
  const { folder, bin } = await install('@hey-api/openapi-ts', '0.95.0')
  // It types int64 as bigint, and reads a number: so docs/clients.md says to take the format out.
  const document = JSON.parse(readFileSync(contract, 'utf8'), (key, value) =>
    key === 'format' && value === 'int64' ? undefined : value,
  )
  writeFileSync(join(folder, 'contract.json'), JSON.stringify(document))
  const plugins = ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk']
  await run(bin('openapi-ts'), ['-i', 'contract.json', '-o', 'relayer', '--no-log-file', '-p', ...plugins], folder)
  const methods = exported(readFileSync(join(folder, 'relayer', 'sdk.gen.ts'), 'utf8'), /^export const (\w+) =/gm)
  const models = exported(readFileSync(join(folder, 'relayer', 'types.gen.ts'), 'utf8'), /^export type (\w+) =/gm)
  expect(operationIds.filter((id) => !methods.includes(id))).toEqual([])
  expect(schemaNames.filter((name) => !models.includes(name))).toEqual([])
  expect(inventedNames('@hey-api/openapi-ts', 'methods', methods)).toEqual([])
  expect(inventedNames('@hey-api/openapi-ts', 'models', models)).toEqual([])
  const calls = await startCalls()
  await calls.expect(await runTypeScript(folder, heyProgram, calls))
})

const orvalProgram = `
import * as relayer from './relayer'

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
await relayer.createNotification({ id: 'ops', type: 'webhook', url: 'http://127.0.0.1:9' }, options)
const changed = await relayer.updateNotification('ops', { url: 'http://127.0.0.1:9/b' }, options)
if (changed.status !== 200) throw new Error(JSON.stringify(changed))
console.log(changed.data.data.url)
const deleted = await relayer.deleteNotification('ops', options)
if (deleted.status !== 200) throw new Error(JSON.stringify(deleted))
console.log('deleted', deleted.data.data.deleted)
const missing = await relayer.getNotification('ops', options)
console.log(missing.status, 'code' in missing.data ? missing.data.code : '')
`

test('orval: generates every operation and schema, compiles and calls', async () => {
  const { folder, bin } = await install('orval', '7.13.2')
  const calls = await startCalls()
  const relayer = { input: contract, output: { target: 'relayer.ts', client: 'fetch', baseUrl: calls.url } }
  writeFileSync(join(folder, 'orval.config.cjs'), `module.exports = ${JSON.stringify({ relayer })}`)
  await run(bin('orval'), ['--config', 'orval.config.cjs'], folder)
  const source = readFileSync(join(folder, 'relayer.ts'), 'utf8')
  const methods = exported(source, /^export const (\w+) = async/gm)
  const models = exported(source, /^export (?:type|interface) (\w+)/gm)
  expect(operationIds.filter((id) => !methods.includes(id))).toEqual([])
  expect(schemaNames.filter((name) => !models.includes(name))).toEqual([])
  expect(inventedNames('orval', 'methods', methods)).toEqual([])
  const own = models.filter((name) => /^[A-Z]/.test(name))
  // It makes a type of each branch that is no reference, also where the other branch is null.
  expect(inventedNames('orval', 'models', own)).toEqual(['FailureDataAnyOf'])
  await calls.expect(await runTypeScript(folder, orvalProgram, calls))
})
