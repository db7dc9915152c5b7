import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createRelayerClient, type Relayer, RelayerError } from '../client/index.ts'
import { type Anvil, NoChainError, startAnvil } from './support/anvil.ts'

const { PORT = '8080', BASE_URL = `http://127.0.0.1:${PORT}`, RELAYER_URL = BASE_URL } = process.env
const { API_KEY, RELAYER_API_KEY = API_KEY, DATA_DIR = './data', CHAIN_PORT = '8545' } = process.env
const help = `npm run chain [-- OPTIONS]

A development chain (anvil) for the network \`local\`, chain id 31337. Every relayer of that chain in the running service gets funds, also
one that is created later; a relayer of an earlier chain is reset.

  --port N            the chain's port (default: CHAIN_PORT, or 8545, which the network \`local\` expects)
  --block-time S      seconds between blocks (default: 1)
  --base-fee WEI      the base fee of the first block
  --token             a token of EIP-3009 with the name USD Coin, and 1,000,000 units of it for the account
                      0x70997970c51812dc3a010c7d01b50e0d17dc79c8 (docs/settlement.md)
  --help

Environment:
  RELAYER_URL         the service (default: http://127.0.0.1 at PORT, or 8080)
  RELAYER_API_KEY     its API key (default: the file api-key in DATA_DIR, or ./data)
`
const { values: options } = readOptions()
const keyFile = join(DATA_DIR, 'api-key')
const balanceEth = 100
const roundMs = 1_000
const answerDeadlineMs = 5_000

/** How often the nonces of each relayer agreed with this chain. The service may remember the former chain for some seconds. */
const inStep = new Map<string, number>()
const enough = 10

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())

try {
  const chain = await start()
  const every = Number(options['block-time'])
  say(`The development chain is at ${chain.url}: chain id ${chain.chain_id}, a block every ${every} s. Ctrl-C ends it.`)
  try {
    if (options.token) await addToken(chain)
    await fundForEver(chain)
  } finally {
    await chain.stop()
  }
} catch (error) {
  // Ctrl-C reaches anvil as well, and a call to it that was under way then fails.
  if (!stopping.signal.aborted) complain(error)
}

async function addToken(chain: Anvil): Promise<void> {
  const { deployMoney } = await import('./support/payments.ts')
  const { token, mint } = await deployMoney(chain)
  await mint(chain.accounts[1]?.address ?? '')
  say(`The token USD Coin is at ${token}.`)
}

function complain(error: unknown): void {
  process.stderr.write(`${error instanceof NoChainError ? error.message : (error as Error).stack}\n`)
  process.exitCode = 1
}

function readOptions() {
  try {
    const read = parseArgs({
      options: {
        port: { type: 'string', default: CHAIN_PORT },
        'block-time': { type: 'string', default: '1' },
        'base-fee': { type: 'string' },
        token: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    const { port, 'block-time': time, 'base-fee': fee = '0' } = read.values
    if (read.values.help) end(help, 0)
    if (!/^\d{1,5}$/.test(port) || !(Number(time) > 0) || !/^\d{1,18}$/.test(fee)) end(help, 2)
    return read
  } catch (error) {
    return end(`${(error as Error).message}\n\n${help}`, 2)
  }
}

function end(text: string, code: number): never {
  process.stdout.write(text)
  process.exit(code)
}

async function start(): Promise<Anvil> {
  const port = Number(options.port)
  const { 'base-fee': baseFee } = options
  try {
    const args = baseFee === undefined ? [] : ['--block-base-fee-per-gas', baseFee]
    return await startAnvil({ port, blockTime_s: Number(options['block-time']), args })
  } catch (error) {
    if (!(error instanceof NoChainError) || !error.message.includes('in use')) throw error
    throw new NoChainError(
      `Port ${port} is taken by another program, perhaps a chain already. End it, or set CHAIN_PORT to a free port ` +
        '(and the rpc_urls of the network `local` to the same port).',
    )
  }
}

async function fundForEver(chain: Anvil): Promise<void> {
  const funded = new Set<string>()
  let told = ''
  while (!stopping.signal.aborted) {
    await chain.rpc('eth_chainId').catch((cause) => {
      throw new NoChainError('The development chain ended by itself.', { cause })
    })
    const obstacle = await fundAll(chain, funded)
    // Said once, not once a second.
    if (obstacle && obstacle !== told) say(obstacle)
    told = obstacle ?? ''
    await pause(roundMs, undefined, { signal: stopping.signal }).catch(() => {})
  }
}

/** Funds the relayers that are not in `funded`, and adds them. Answers what keeps it from reading them, if anything does. */
async function fundAll(chain: Anvil, funded: Set<string>): Promise<string | undefined> {
  const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(answerDeadlineMs)])
  let found: FoundRelayer[]
  let elsewhere: string | undefined
  try {
    ;({ found, elsewhere } = await relayersOn(chain, signal))
  } catch (error) {
    return stopping.signal.aborted ? undefined : obstacleOf(error)
  }
  for (const { id, address } of found) {
    if (funded.has(address)) continue
    await chain.setBalance(address, BigInt(balanceEth) * 10n ** 18n)
    funded.add(address)
    say(`Funded the relayer ${id} (${address}) with ${balanceEth} ETH.`)
  }
  // The service may not reach this chain, or be on another one.
  for (const { id, system_disabled } of found)
    if (system_disabled || (inStep.get(id) ?? 0) < enough) await reset(id, signal).catch(() => undefined)
  return elsewhere
}

/** A relayer of an earlier chain: the service disables it, because its transactions are on no chain. Only test chains are reset. */
async function reset(id: string, signal: AbortSignal): Promise<void> {
  const client = clientNow()
  const { status } = await client.relayers.getNonce(id, { signal })
  if (status === 'in_step') inStep.set(id, (inStep.get(id) ?? 0) + 1)
  if (status !== 'chain_restarted') return
  await client.relayers.reconcileNonce(id, { chain_restarted: true }, { signal })
  say(`Reset the relayer ${id}: its transactions were on an earlier chain; it starts at nonce 0.`)
}

type FoundRelayer = Pick<Relayer, 'id' | 'address' | 'system_disabled'>

/** The service may write its key while this waits for it. */
function clientNow() {
  const token = RELAYER_API_KEY || (existsSync(keyFile) ? readFileSync(keyFile, 'utf8').trim() : '')
  return createRelayerClient({ baseUrl: RELAYER_URL, token })
}

/** `elsewhere`: what to do when no network of the service calls this chain. */
async function relayersOn(
  { chain_id: chainId, url }: Anvil,
  signal: AbortSignal,
): Promise<{ found: FoundRelayer[]; elsewhere: string | undefined }> {
  const client = clientNow()
  const all = await Array.fromAsync(client.all('/api/v1/networks', { signal }))
  const networks = all.filter((network) => network.chain_id === chainId)
  const port = `:${new URL(url).port}`
  const isCalled = networks.some(({ rpc_urls: nodes }) => nodes.some((node) => node.url.includes(port)))
  const [first] = networks
  const elsewhere =
    first && !isCalled
      ? `The network ${first.name} of the service calls ${first.rpc_urls.map((node) => node.url).join(', ')} and not this chain. ` +
        `To change it: npm run -s relayer -- --url ${RELAYER_URL} networks change ${first.id} --set rpc_urls=${url}`
      : undefined
  const relayers = await Array.fromAsync(client.all('/api/v1/relayers', { signal }))
  return { found: relayers.filter(({ network }) => networks.some(({ name }) => name === network)), elsewhere }
}

function obstacleOf(error: unknown): string {
  if (error instanceof RelayerError && error.status === 401) {
    const key = RELAYER_API_KEY ? 'RELAYER_API_KEY is not its key' : `${keyFile} does not hold its key`
    return `The service at ${RELAYER_URL} refuses to list its relayers: ${key}. Trying on.`
  }
  if (error instanceof RelayerError)
    return `The service at ${RELAYER_URL} answers ${error.status} ${error.message}. Trying on.`
  return (
    `The service at ${RELAYER_URL} is not up yet (npm start): its relayers are funded once it is. ` +
    'If it listens elsewhere, end this and set PORT or RELAYER_URL.'
  )
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
