import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { keccak256 } from 'ethers/crypto'
import { Transaction } from 'ethers/transaction'
import { curve } from '../../../server/keys/secp256k1.ts'
import type { Figures } from '../measure.ts'
import { allConfirmed, assertMinedOnce, postAll } from './load.ts'
import { setStage } from './stage.ts'
import { read } from './tap.ts'
import { until } from './until.ts'

/** What a node holds of an account, as Reth and Erigon do by default. */
const heldOfAccount = 16
const blockMs = 1_000
/** For each relayer: fifteen full blocks. */
const ofRelayer = 240

/** Transactions a second from the tenth to the ninetieth percent, of one relayer and of a pool, where nodes hold 16 of an account. */
export async function limits(relayers: number, options: { root?: string; node_args: string[] }): Promise<Figures> {
  let node: LimitedNode | undefined
  const stage = await setStage({
    ...options,
    relayers,
    pool: relayers > 1,
    block_ms: blockMs,
    average_blocktime_ms: blockMs,
    through: async (url) => {
      node = await limitAccounts(url)
      return node
    },
  })
  try {
    const { chain, service } = stage
    const count = relayers * ofRelayer
    const minedAt: number[] = []
    const startedAt = performance.now()
    const counting = until(async () => {
      const counts = await Promise.all(
        stage.relayers.map(async ({ address }) =>
          Number(await chain.rpc('eth_getTransactionCount', [address, 'latest'])),
        ),
      )
      const sum = counts.reduce((total, one) => total + one, 0)
      while (minedAt.length < sum) minedAt.push(performance.now() - startedAt)
      return sum >= count
    }, 25)
    await postAll(stage, count, { gas_limit: 21_000 })
    const acceptedMs = performance.now() - startedAt
    await counting
    await allConfirmed(stage, count)
    await assertMinedOnce(stage, count)
    const { sends, refused, first_at } = node as LimitedNode
    const at = (part: number) => minedAt[Math.ceil(count * part) - 1] as number
    return {
      mined_per_s: (count * 0.8 * 1_000) / (at(0.9) - at(0.1)),
      accepted_ms: acceptedMs,
      first_send_ms: (first_at ?? Number.NaN) - startedAt,
      mined_10_ms: at(0.1),
      mined_90_ms: at(0.9),
      mined_all_ms: at(1),
      sends_per_tx: sends / count,
      refused_per_tx: refused / count,
      cpu_ms_per_tx: service.cpu_ms() / count,
    }
  } finally {
    await stage.end()
  }
}

interface Answer {
  id: unknown
  result?: unknown
}

interface LimitedNode {
  url: string
  sends: number
  refused: number
  first_at: number | undefined
  stop(): Promise<void>
}

/** A proxy that refuses what is more than 16 nonces above the account's count. */
async function limitAccounts(target: string): Promise<LimitedNode> {
  const rpc = async (body: unknown): Promise<Answer | Answer[]> => {
    const headers = { 'Content-Type': 'application/json' }
    return (await fetch(target, { method: 'POST', headers, body: JSON.stringify(body) })).json() as Promise<
      Answer | Answer[]
    >
  }
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await read(request))
    const calls = [body].flat()
    const answers = new Map<unknown, unknown>()
    const next = new Map<string, number>()
    for (const { id, method, params } of calls) {
      if (method !== 'eth_sendRawTransaction') continue
      node.sends += 1
      node.first_at ??= performance.now()
      const transaction = Transaction.from(params[0])
      const from = senderOf(transaction)
      if (!next.has(from)) {
        const answer = { jsonrpc: '2.0', id: 1, method: 'eth_getTransactionCount', params: [from, 'latest'] }
        next.set(from, Number(([await rpc(answer)].flat()[0] as Answer).result))
      }
      if (transaction.nonce < (next.get(from) as number) + heldOfAccount) continue
      node.refused += 1
      answers.set(id, { jsonrpc: '2.0', id, error: { code: -32_000, message: 'account limit exceeded' } })
    }
    const passed = calls.filter(({ id }) => !answers.has(id))
    for (const answer of passed.length > 0 ? [await rpc(passed)].flat() : []) answers.set(answer.id, answer)
    const all = calls.map(({ id }) => answers.get(id))
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify(Array.isArray(body) ? all : all[0]))
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const node: LimitedNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ sends: 0, refused: 0, first_at: undefined },
    async stop() {
      server.close()
      server.closeAllConnections()
    },
  }
  return node
}

/** ethers recovers in milliseconds, which would be a part of the load. */
function senderOf({ unsignedHash, signature }: Transaction): string {
  const { r, s, yParity } = signature as NonNullable<Transaction['signature']>
  const digest = Buffer.from(unsignedHash.slice(2), 'hex')
  const rs = Buffer.from(r.slice(2) + s.slice(2), 'hex')
  const key = curve.recover(digest, { rs, recovery: yParity }) as Uint8Array
  return `0x${keccak256(key.slice(1)).slice(-40)}`
}
