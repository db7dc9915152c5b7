import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createRelayerClient, RelayerError } from '../client/index.ts'
import { type Anvil, NoChainError, startAnvil } from './support/anvil.ts'

// `npm run chain`: a development chain for the network `local`, on which every relayer of chain 31337 has funds. It looks for
// new ones once a second, in the service at BASE_URL with the key in API_KEY, or else in the data folder (DATA_DIR).
// CHAIN_PORT: another port than 8545, which the network `local` expects.

const { BASE_URL = 'http://127.0.0.1:8080', API_KEY, DATA_DIR = './data', CHAIN_PORT = '8545' } = process.env
const keyFile = join(DATA_DIR, 'api-key')
const balance_eth = 100
const round_ms = 1_000
const answer_deadline_ms = 5_000

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())

try {
  const chain = await start(Number(CHAIN_PORT))
  say(`The development chain is at ${chain.url}: chain id ${chain.chain_id}, a block a second. Ctrl-C ends it.`)
  try {
    await fundForEver(chain)
  } finally {
    await chain.stop()
  }
} catch (error) {
  // Ctrl-C reaches anvil as well, and a call to it that was under way then fails.
  if (!stopping.signal.aborted) complain(error)
}

function complain(error: unknown): void {
  process.stderr.write(`${error instanceof NoChainError ? error.message : (error as Error).stack}\n`)
  process.exitCode = 1
}

async function start(port: number): Promise<Anvil> {
  try {
    return await startAnvil({ port, blockTime_s: 1 })
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
    await pause(round_ms, undefined, { signal: stopping.signal }).catch(() => {})
  }
}

/** Funds the relayers that are not in `funded`, and adds them. Answers what keeps it from reading them, if anything does. */
async function fundAll(chain: Anvil, funded: Set<string>): Promise<string | undefined> {
  const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(answer_deadline_ms)])
  let found: { id: string; address: string }[]
  try {
    found = await relayersOn(chain.chain_id, signal)
  } catch (error) {
    return stopping.signal.aborted ? undefined : obstacleOf(error)
  }
  for (const { id, address } of found) {
    if (funded.has(address)) continue
    await chain.setBalance(address, BigInt(balance_eth) * 10n ** 18n)
    funded.add(address)
    say(`Funded the relayer ${id} (${address}) with ${balance_eth} ETH.`)
  }
  return undefined
}

async function relayersOn(chain_id: number, signal: AbortSignal): Promise<{ id: string; address: string }[]> {
  const token = API_KEY || (existsSync(keyFile) ? readFileSync(keyFile, 'utf8').trim() : '')
  const client = createRelayerClient({ baseUrl: BASE_URL, token })
  const names = new Set<string>()
  for await (const network of client.all('/api/v1/networks', { signal })) {
    if (network.chain_id === chain_id) names.add(network.name)
  }
  const relayers = await Array.fromAsync(client.all('/api/v1/relayers', { signal }))
  return relayers.filter(({ network }) => names.has(network))
}

function obstacleOf(error: unknown): string {
  if (error instanceof RelayerError && error.status === 401) {
    const key = API_KEY ? 'API_KEY is not its key' : `${keyFile} does not hold its key`
    return `The service at ${BASE_URL} refuses to list its relayers: ${key}. Trying on.`
  }
  if (error instanceof RelayerError)
    return `The service at ${BASE_URL} answers ${error.status} ${error.message}. Trying on.`
  return `The service at ${BASE_URL} is not up yet (npm start): its relayers are funded once it is.`
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
