import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { testChain } from '../support/chain.ts'
import { nodeEnvironment } from '../support/node-environment.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

const root = join(import.meta.dirname, '..', '..')
const address = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'

/** The shell blocks of a document. */
const blocksOf = (file: string): string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block)

/** Blocks that other tests run: client-package.test.ts installs, test:generators generates, test:tools runs cast; CI runs `npm ci`. */
const elsewhere = /^(?:npm install |npm ci && npm start|sh client\/generators\/|export ETH_RPC_URL=)/

/** The folder of a reader: `data/api-key`, and the checkout's client. Its chain mines by itself, and `demo` has funds. */
async function start() {
  const chain = await testChain({ blockTime_s: 0.3 })
  const service = await startTestService()
  const { client, url, api_key } = service
  await client.networks.update('evm:local', { rpc_urls: [chain.url] })
  await chain.setBalance((await client.relayers.get('demo')).address, 10n ** 20n)
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data', 'api-key'), api_key)
  symlinkSync(join(root, 'client'), join(folder, 'client'))

  /** Starts a script in bash, with the addresses of this service and this chain. */
  function run(script: string, env: Record<string, string> = {}, input = '') {
    // The reader's `relayer` is that of the checkout, whose folder is another one here.
    const text = script
      .replace(/^relayer\(\) .*$/m, '')
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll('http://127.0.0.1:8545', chain.url)
    const functions = `relayer() { node "${root}/client/cli/main.ts" "$@"; }\nnpm() { command npm --prefix "${root}" "$@"; }`
    const { HOME = '', PATH } = process.env
    const path = `${dirname(process.execPath)}:${PATH}`
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', `${functions}\n${text}`], {
      cwd: folder,
      env: { ...nodeEnvironment, HOME, PATH: path, RELAYER_URL: url, ...env },
      detached: true,
    })
    onTestFinished(() => {
      if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGKILL')
    })
    let out = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        out += chunk
      })
    child.stdin.on('error', () => {}).end(input)
    const ended = new Promise<{ code: number | null; out: string }>((resolve) =>
      child.on('close', (code) => resolve({ code, out })),
    )
    return { ended, out: () => out }
  }
  return { ...service, chain, folder, run }
}

test.each([
  ['README.md', ['curl', 'curl', 'api'], 1],
  ['docs/clients.md', ['RELAYER_API_KEY', 'relayer'], 3],
  ['docs/webhooks.md', ['printf'], 0],
  ['docs/agents.md', ['cat', 'export'], 1],
])('runs the shell blocks of %s', async (file, beginnings, sent) => {
  const { client, run, api_key } = await start()
  const receiver = await startReceiver()
  const blocks = blocksOf(file)
    .filter((block) => !elsewhere.test(block))
    .map((block) => block.replace('http://127.0.0.1:3000/webhook', receiver.url))
  expect(blocks.map((block) => /^\w+/.exec(block)?.[0])).toEqual(beginnings)
  for (const block of blocks) {
    const { code, out } = await run(block, { RELAYER_API_KEY: api_key }).ended
    expect.soft([code, out], block).toEqual([0, expect.not.stringContaining('"success":false')])
  }
  const statuses = await Array.fromAsync(client.transactions.listRelayerTransactions('demo'), ({ status }) => status)
  expect(statuses).toEqual(Array(sent).fill('confirmed'))
})

test('takes the JSON of docs/clients.md as a transaction', async () => {
  const { client } = await start()
  const body = /```json\n(.*?)```/s.exec(readFileSync(join(root, 'docs', 'clients.md'), 'utf8'))?.[1] ?? ''
  expect(await client.transactions.dryRun('demo', JSON.parse(body))).toMatchObject({ accepted: true })
})

test('runs each command of the README of the command line', async () => {
  const { client, chain, folder, run, api_key } = await start()
  const sepolia = { name: 'sepolia', network_type: 'evm' as const, chain_id: 11_155_111, rpc_urls: [chain.url] }
  await client.networks.create({ ...sepolia, required_confirmations: 1, average_blocktime_ms: 1_000, is_testnet: true })
  await client.notifications.create({ id: 'treasury-events', type: 'webhook', url: 'http://127.0.0.1:9/' })
  writeFileSync(join(folder, 'may.csv'), `to,amount\n${address},1.5\n`)
  const receiver = await startReceiver((_, response) => void response.writeHead(204).end())
  const key = `0x${'46'.repeat(32)}\n`

  const lines =
    blocksOf('client/cli/README.md')
      .find((block) => block.startsWith('relayer '))
      ?.trim()
      .split('\n') ?? []
  expect(lines.length).toBeGreaterThan(10)
  for (const line of lines) {
    // A price below the base fee of this chain, so that it waits until its price is raised.
    const waiting = { to: address, value: 1n, max_fee_per_gas: 1n, max_priority_fee_per_gas: 1n }
    const isSpedUp = line.includes('speed-up')
    const sent = line.includes('$TRANSACTION')
      ? await (isSpedUp
          ? client.transactions.send('demo', waiting)
          : client.transactions.send('demo', { to: address }, { wait: 'submitted' }))
      : undefined
    const env = { RELAYER_API_KEY: api_key, RELAYER_ID: 'demo', TOKEN: address, RECEIVER: address }
    const command = line.replace('http://localhost:3000/webhook', receiver.url)
    const { ended, out } = run(command, { ...env, TRANSACTION: sent?.id ?? '' }, line.endsWith(' -') ? key : '')
    if (line.startsWith('relayer listen')) {
      await expect.poll(out).toContain('Listening to demo')
      await client.relayers.update('demo', { paused: true })
      await expect.poll(() => receiver.got.length).toBe(1)
    } else {
      const { code, out } = await ended
      // The node of the network `sepolia` is of another chain, which `doctor` tells.
      expect.soft([code, out], line).toEqual([line === 'relayer doctor' ? 9 : 0, expect.any(String)])
    }
  }
})
