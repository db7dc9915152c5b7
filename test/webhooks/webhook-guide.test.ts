import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { signWebhook, verifyWebhook } from '../../client/webhook.ts'
import { testChain } from '../support/chain.ts'
import { startReceiver as startDeliveries } from '../support/receiver.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'
import { until } from '../support/until.ts'

const root = join(import.meta.dirname, '..', '..')
const { tags } = JSON.parse(readFileSync(join(root, 'generated', 'openapi.json'), 'utf8')) as {
  tags: { name: string; description: string }[]
}
const guide = tags.find(({ name }) => name === 'Notifications')?.description ?? ''
const block = (language: string) => new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(guide)?.[1] ?? ''
const signingKey = /whsec_[\w+/=]+/.exec(guide)?.[0] ?? ''

test('shows an authentic delivery in the webhook guide', async () => {
  const body = JSON.stringify(JSON.parse(block('json')))
  const headers = Object.fromEntries(
    block('http')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split(': ') as [string, string]),
  )
  const now = Number(headers['webhook-timestamp']) * 1_000
  const event = await verifyWebhook(signingKey, headers, body, { now })
  expect(event.event).toBe('transaction_update')
  const signed = await signWebhook(signingKey, event.id, body)
  expect(headers['X-Signature']).toBe(signed['x-signature'])
})

test('shows a delivery in the webhook guide that has the members of a real one, in their order', async () => {
  const body = await realDelivery()
  expect(body).toBe(JSON.stringify(JSON.parse(body)))
  expect(shapeOf(JSON.parse(block('json')))).toBe(shapeOf(JSON.parse(body)))
})

/** The text of a value with its members in their order, and the kind of each value in its place. */
function shapeOf(value: unknown): string {
  const kind = (its: unknown) => (its === null ? 'null' : typeof its)
  return JSON.stringify(value, (_, its) => (typeof its === 'object' && its !== null ? its : kind(its)))
}

/** The body that reports a confirmed transfer of the relayer `treasury`. */
async function realDelivery(): Promise<string> {
  const chain = await testChain({ blockTime_s: 0.3 })
  const receiver = await startDeliveries()
  const { client } = await startTestService()
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [chain.url] },
  })
  await client.post('/api/v1/notifications', { body: { id: 'guide', url: receiver.url, signing_key: signingKey } })
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const network = { network: 'local', network_type: 'evm' } as const
  const relayer = { id: 'treasury', name: 'Treasury', ...network, paused: false, signer_id: signer.id }
  const { data } = await client.post('/api/v1/relayers', { body: { ...relayer, notification_id: 'guide' } })
  await chain.setBalance(data.address, 10n ** 20n)
  const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
  await client.transactions.send('treasury', { to, value: 10n ** 15n, speed: 'fast', reference: 'order-4711' })
  const last = () => receiver.got.find(({ event }) => 'status' in event.payload && event.payload.status === 'confirmed')
  await until('it is confirmed', () => last() !== undefined)
  return last()?.body as string
}

test('shows a receiver in the webhook guide that accepts a delivery and refuses a forged one', async () => {
  const port = await startReceiver()
  const { client } = await startTestService()
  const url = `http://127.0.0.1:${port}/relayer`
  const body = { id: 'guide', url, signing_key: signingKey }
  await client.post('/api/v1/notifications', { body })

  const { data } = await client.post('/api/v1/notifications/{notification_id}/test', {
    path: { notification_id: 'guide' },
  })
  expect(data).toMatchObject({ http_status: 204, error_message: null })

  const forged = {
    'webhook-id': 'a',
    'webhook-timestamp': `${Math.floor(Date.now() / 1_000)}`,
    'webhook-signature': 'v1,AAAA',
  }
  expect((await fetch(url, { method: 'POST', headers: forged, body: '{}' })).status).toBe(400)
})

/** Resolves to the port. */
async function startReceiver(): Promise<number> {
  const folder = temporaryFolder()
  const client = join(folder, 'node_modules', '@evm-relayer-service/client')
  mkdirSync(client, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeFileSync(join(client, 'package.json'), '{"type": "module", "exports": {"./webhook": "./webhook.js"}}')
  const source = JSON.stringify(join(root, 'client', 'webhook.ts'))
  writeFileSync(join(client, 'webhook.js'), `export * from ${source}\n`)
  const anyPort = "0, '127.0.0.1', function () { console.log(this.address().port) }"
  writeFileSync(join(folder, 'receiver.ts'), block('ts').replace('3000', anyPort))
  const child = spawn(process.execPath, [join(folder, 'receiver.ts')], {
    env: { ...process.env, SIGNING_KEY: signingKey },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill())
  return new Promise((resolve, reject) => {
    child.stdout.once('data', (text) => resolve(Number(text)))
    child.once('exit', (code) => reject(new Error(`The receiver ended with ${code}`)))
  })
}
