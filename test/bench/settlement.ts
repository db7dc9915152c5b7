import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createRelayerClient } from '../../client/index.ts'
import { typedDataDigest } from '../../server/domain/encoding/digest.ts'
import { hashTypedData } from '../../server/domain/encoding/typed-data.ts'
import { authorizationTypes } from '../../server/domain/payments.ts'
import { addressOf, curve } from '../../server/keys/secp256k1.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { cpuOfMs, type Figures, percentile } from './measure.ts'
import { nodeFlags } from './node-flags.ts'
import { print, say } from './report.ts'
import { apiKey, startProcess } from './sending/service-process.ts'
import { read } from './sending/tap.ts'
import { chainId, token } from './servers/token-chain.ts'

// `npm run bench:settlement [-- --payments 4000] [--callers 1000] [--relayers 10] [--block-ms 500] [--runs 3] [--node-args ARGS]`: how many x402 payments
// a second one service settles, and what that costs it. Each caller posts one signed payment after the other and waits for its hash. The node
// executes the token (servers/token-chain.ts). Service, node and callers share the machine. On Linux.

const { values } = parseArgs({
  options: {
    payments: { type: 'string', default: '4000' },
    callers: { type: 'string', default: '1000' },
    relayers: { type: 'string', default: '10' },
    'block-ms': { type: 'string', default: '500' },
    runs: { type: 'string', default: '3' },
    'node-args': { type: 'string', default: '' },
  },
})
const payments = Number(values.payments)
const amount = 10_000n
const payee = `0x${'be'.repeat(20)}`

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
async function settle(): Promise<Figures> {
  const node = await startNode()
  const dataDir = mkdtempSync(join(tmpdir(), 'relayer-bench-'))
  const service = await startProcess(dataDir, { node_args: values['node-args'].split(' ').filter(Boolean) })
  try {
    const settleToken = await makeFacilitator(service.url, node.url)
    const bodies = await signPayments(payments, node.rpc)
    const agent = new Agent({ keepAlive: true, maxSockets: Number(values.callers) })
    const post = settling(`${service.url}/api/v1/facilitators/bench/settle`, agent, settleToken)
    const warmUp = Math.floor(payments / 4)
    await inTurns(bodies.slice(0, warmUp), post)
    const before = {
      service: service.cpu_ms(),
      node: cpuOfMs(node.pid),
      counts: await node.rpc<Counts>('token_counts'),
    }
    const [markedUs, beganAt] = [Number(process.hrtime.bigint() / 1_000n), performance.now()]
    const answers = await inTurns(bodies.slice(warmUp), post)
    const [ms, count] = [performance.now() - beganAt, answers.length]
    const hashes = new Set(answers.map(({ hash }) => hash))
    const received = BigInt(
      await node.rpc<string>('eth_call', [{ to: token, data: `0x70a08231${payee.slice(2).padStart(64, '0')}` }]),
    )
    if (hashes.size !== count || received !== amount * BigInt(payments))
      throw new Error(`${hashes.size} transactions for ${count} payments; ${received} were received`)
    const counts = await node.rpc<Counts>('token_counts')
    const calls = Object.keys(counts).filter((name) => name !== 'requests')
    say(
      calls
        .map((name) => `${name} ${(((counts[name] ?? 0) - (before.counts[name] ?? 0)) / count).toFixed(2)}`)
        .join(', '),
    )
    agent.destroy()
    return {
      settled_per_s: (count * 1_000) / ms,
      cpu_ms_per_payment: (service.cpu_ms() - before.service) / count,
      node_cpu_ms_per_payment: (cpuOfMs(node.pid) - before.node) / count,
      p50_ms: percentile(
        answers.map(({ took }) => took),
        50,
      ),
      p99_ms: percentile(
        answers.map(({ took }) => took),
        99,
      ),
      rpc_requests_per_payment: ((counts.requests ?? 0) - (before.counts.requests ?? 0)) / count,
      rss_peak_mb: service.rss_peak_mb(),
      load: loadavg()[0] ?? Number.NaN,
      ...(values['node-args'].includes('--cpu-prof') && {
        from_us: markedUs,
        to_us: Number(process.hrtime.bigint() / 1_000n),
      }),
    }
  } finally {
    await service.stop('SIGTERM')
    node.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

type Counts = Record<string, number>

async function startNode() {
  const env = { ...process.env, BLOCK_MS: values['block-ms'] }
  const file = join(import.meta.dirname, 'servers', 'token-chain.ts')
  const child = spawn(process.execPath, [...nodeFlags, file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  process.once('exit', () => child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const url = line.toString().trim()
  return {
    url,
    pid: child.pid as number,
    async rpc<T>(method: string, params: unknown[] = []): Promise<T> {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const answer = (await (await fetch(url, { method: 'POST', body })).json()) as { result: T }
      return answer.result
    },
    stop: () => void child.kill('SIGKILL'),
  }
}

/** A facilitator over a pool of relayers. Resolves to its token. */
async function makeFacilitator(baseUrl: string, rpcUrl: string): Promise<string> {
  const client = createRelayerClient({ baseUrl, token: apiKey, fetch: asOnlyWriter })
  await client.networks.create({
    ...{ name: 'bench', network_type: 'evm', chain_id: chainId, rpc_urls: [rpcUrl], required_confirmations: 1 },
    average_blocktime_ms: Number(values['block-ms']),
  })
  const ids = Array.from({ length: Number(values.relayers) }, (_, index) => `bench-${index}`)
  for (const id of ids) {
    await client.signers.create({ id, type: 'generated' })
    const policies = { max_pending: 100_000 }
    await client.relayers.create({
      id,
      name: id,
      network: 'bench',
      network_type: 'evm',
      paused: false,
      signer_id: id,
      policies,
    })
  }
  await client.pools.create({ id: 'bench', network: 'bench', relayer_ids: ids })
  const rules = { assets: [{ asset: token, max_amount_per_payment: `${amount}` }], pay_to: payee, wait_seconds: 30 }
  const limits = { max_fee_per_payment: `${10n ** 16n}`, max_fee_per_day: `${10n ** 24n}` }
  return (await client.facilitators.create({ id: 'bench', pool_id: 'bench', ...rules, ...limits })).token
}

/** The bodies of so many payments, each with a nonce of its own. */
async function signPayments(
  count: number,
  rpc: (method: string, params: unknown[]) => Promise<unknown>,
): Promise<string[]> {
  const key = randomBytes(32)
  const from = addressOf(curve.publicKey(key))
  await rpc('token_mint', [from, `${amount * BigInt(count)}`])
  const domain = { name: 'USD Coin', version: '2', chainId, verifyingContract: token }
  const accepted = {
    ...{ scheme: 'exact', network: `eip155:${chainId}`, amount: `${amount}`, asset: token, payTo: payee },
    ...{ maxTimeoutSeconds: 600, extra: { name: 'USD Coin', version: '2' } },
  }
  const validBefore = `${Math.floor(Date.now() / 1_000) + 3_600}`
  return Array.from({ length: count }, () => {
    const nonce = `0x${randomBytes(32).toString('hex')}`
    const authorization = { from, to: payee, value: `${amount}`, validAfter: '0', validBefore, nonce }
    const document = {
      domain,
      types: authorizationTypes,
      primaryType: 'TransferWithAuthorization',
      message: authorization,
    }
    const { domain_separator, struct_hash } = hashTypedData(document)
    const { rs, recovery } = curve.sign(typedDataDigest(domain_separator, struct_hash), key)
    const signature = `0x${Buffer.from(rs).toString('hex')}${(27 + recovery).toString(16)}`
    const paymentPayload = { x402Version: 2, accepted, payload: { signature, authorization } }
    return JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: accepted })
  })
}

/** All of them, as many at once as there are callers. */
async function inTurns<T>(bodies: string[], work: (body: string) => Promise<T>): Promise<T[]> {
  const rest = bodies.values()
  const done: T[] = []
  const caller = async () => {
    for (const body of rest) done.push(await work(body))
  }
  await Promise.all(Array.from({ length: Number(values.callers) }, caller))
  return done
}

const settling = (url: string, agent: Agent, bearer: string) => async (body: string) => {
  const beganAt = performance.now()
  const headers = {
    Authorization: `Bearer ${bearer}`,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  }
  const answer = await new Promise<string>((resolve, reject) => {
    const outgoing = request(
      url,
      { method: 'POST', agent, headers },
      (response) => void read(response).then(resolve, reject),
    )
    outgoing.once('error', reject)
    outgoing.end(body)
  })
  const { success, transaction } = JSON.parse(answer)
  if (success !== true) throw new Error(answer)
  return { hash: transaction as string, took: performance.now() - beganAt }
}

const rounds: Figures[] = []
for (let run = 0; run < Number(values.runs); run += 1) rounds.push(await settle())
print(
  `${payments} payments, ${values.callers} callers, ${values.relayers} relayers, blocks of ${values['block-ms']} ms`,
  {
    rounds: { settlement: rounds },
    ratios: [],
    limits: [
      { contender: 'settlement', figure: 'settled_per_s', wanted: '>= 833' },
      { contender: 'settlement', figure: 'cpu_ms_per_payment', wanted: '<= 0.6' },
    ],
  },
)
