import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getAddress, verifyMessage } from 'ethers'
import { beforeAll, expect, test } from 'vitest'
import { testChain } from '../support/chain.ts'
import { exampleProject, runExample, startExample } from '../support/examples.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'

const root = join(import.meta.dirname, '..', '..')
const demo = { path: { relayer_id: 'demo' } }
const signingKey = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const node = process.execPath
let folder: string

beforeAll(async () => {
  const project = await exampleProject(['ethers', 'viem', 'express'])
  folder = project.folder
  return project.remove
})

async function start() {
  const chain = await testChain({ blockTime_s: 0.3 })
  const service = await startTestService()
  const { client, url, api_key } = service
  const network = { path: { network_id: 'evm:local' }, body: { rpc_urls: [chain.url] } }
  await client.patch('/api/v1/networks/{network_id}', network)
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', demo)
  await chain.setBalance(relayer.address, 10n ** 20n)
  return { client, chain, env: { RELAYER_URL: url, RELAYER_API_KEY: api_key } }
}

const confirmed = /^confirmed 0x[0-9a-f]{64}\n$/

test('typed client: sends a transaction, and prints a refusal', async () => {
  const { client, env } = await start()
  expect(await runExample(folder, node, ['client.mjs'], env)).toMatch(confirmed)
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { policies: { max_value: 1n } } })
  const refused = await runExample(folder, node, ['client.mjs'], env)
  expect(refused).toBe('403 policy_violation policies/max_value: 1000000000000000 wei is above the limit of 1 wei\n')
})

test('ethers and viem: deploy a contract, call it and sign', async () => {
  const { client, chain, env } = await start()
  const examples = ['ethers', 'ethers-signer', 'viem', 'viem-transport']
  const run = async (name: string) => {
    const { id, address } = await createRelayer(client, { id: name })
    await chain.setBalance(address, 10n ** 20n)
    const printed = await runExample(folder, node, [`${name}.mjs`], { ...env, RELAYER_ID: id })
    const [deployed, count, signature = ''] = printed.split('\n')
    expect.soft(deployed, name).toMatch(/^deployed at 0x[0-9a-fA-F]{40}$/)
    expect.soft(count, name).toBe('count 5n')
    expect.soft(verifyMessage('Hello', signature.replace('signature ', '')), name).toBe(getAddress(address))
  }
  await Promise.all(examples.map(run))
})

test('curl: signs and sends, and sends once under one idempotency key', async () => {
  const { client, env } = await start()
  for (const round of [1, 2]) {
    const [signed, sent] = (await runExample(folder, 'sh', ['curl.sh'], env))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(signed.data.sig, `round ${round}`).toMatch(/^0x[0-9a-f]{130}$/)
    expect(sent.data.status, `round ${round}`).toBe('confirmed')
  }
  const { pagination } = await client.get('/api/v1/relayers/{relayer_id}/transactions/', demo)
  expect(pagination.total_items).toBe(1)
})

test('webhook receiver: processes each event once, and rejects an unsigned one', async () => {
  const { client } = await start()
  const receiver = startExample(folder, 'webhook-receiver.mjs', { SIGNING_KEY: signingKey, PORT: '0' })
  await expect.poll(() => /listening on (\d+)/.exec(receiver.printed())).not.toBeNull()
  const url = `http://127.0.0.1:${/listening on (\d+)/.exec(receiver.printed())?.[1]}/webhook`
  await client.post('/api/v1/notifications', { body: { id: 'hook', url, signing_key: signingKey } })
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_id: 'hook', paused: true } })
  const list = { path: { notification_id: 'hook' }, query: { status: ['delivered' as const] } }
  const delivered = async () => (await client.get('/api/v1/notifications/{notification_id}/deliveries', list)).data
  await expect.poll(async () => (await delivered()).length).toBe(1)
  await client.notifications.redeliverDeliveries('hook', { delivery_id: (await delivered())[0]?.id ?? '' })
  await expect.poll(async () => (await delivered())[0]?.attempts.length).toBe(2)
  expect(receiver.printed().match(/^1 relayer_disabled /gm)).toHaveLength(1)
  const headers = { 'Content-Type': 'application/json' }
  expect((await fetch(url, { method: 'POST', headers, body: '{}' })).status).toBe(400)
})

test('quotes each JavaScript and Python snippet of the documents from an example', () => {
  const folder = join(root, 'client', 'examples')
  const examples = readdirSync(folder)
    .filter((name) => /\.(?:mjs|py|sh)$/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
  const snippets = ['docs/clients.md', 'client/README.md'].flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/```(?:js|python)\n(.*?)```/gs)].map(([, code = '']) => code),
  )
  expect(snippets.length).toBeGreaterThan(1)
  for (const snippet of snippets)
    expect
      .soft(
        examples.some((text) => text.includes(snippet)),
        snippet,
      )
      .toBe(true)
})
