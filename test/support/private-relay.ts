import { createServer } from 'node:http'
import { Transaction } from 'ethers'
import type { Anvil } from './anvil.ts'
import type { FaultProxy } from './fault-proxy.ts'
import { listen } from './listen.ts'

export interface PrivateRelay {
  url: string
  /** What it was sent, in order, also what it refused. */
  sent: { method: string; transaction: Transaction; max_block: number | undefined; isAccepted: boolean }[]
  /** Each call that the public node got, and each nonce that a block is about to use, in order. */
  timeline: (string | { from: string; nonce: number })[]
  /** Records the calls of a public node. */
  watch(proxy: FaultProxy): void
  /** Makes a block of what it has that may be in one, and of the node's own pool. */
  build(): Promise<void>
  /** Drops all that it has. */
  drop(): void
  /** Answers each call with this error; undefined: as usual. */
  refuse(error: RpcFault | undefined): void
  /** Answers the calls of one method with this outcome from now on. */
  say(method: string, outcome: { result: unknown } | { error: RpcFault }): void
  /** Whether it answers with nothing but status 503. */
  isDown: boolean
}

interface RpcFault {
  code: number
  message: string
}

interface Call {
  id: unknown
  method: string
  params: unknown[]
}

/** A private relay and a builder of blocks, until the test ends: what it is sent is in no public pool before it is in a block. `chain`: one without mining. */
export async function startPrivateRelay(chain: Anvil): Promise<PrivateRelay> {
  const pool = new Map<string, Transaction>()
  const [sent, timeline]: [PrivateRelay['sent'], PrivateRelay['timeline']] = [[], []]
  const said = new Map<string, { result: unknown } | { error: RpcFault }>()
  let refusal: RpcFault | undefined

  const counted = async (from: string) => Number(await chain.rpc<string>('eth_getTransactionCount', [from, 'latest']))

  async function add(method: string, raw: string, maxBlock: number | undefined): Promise<string> {
    const transaction = Transaction.from(raw)
    const { nonce, hash, from } = { ...signed(transaction), nonce: transaction.nonce }
    const its = { method, transaction, max_block: maxBlock, isAccepted: false }
    sent.push(its)
    if (nonce < (await counted(from))) throw rpcError('nonce too low')
    const before = pool.get(`${from} ${nonce}`)
    if (before?.hash === hash) throw rpcError('already known')
    if (before && priceOf(transaction) * 10n < priceOf(before) * 11n)
      throw rpcError('replacement transaction underpriced')
    pool.set(`${from} ${nonce}`, transaction)
    its.isAccepted = true
    return hash
  }

  async function answer({ method, params }: Call): Promise<unknown> {
    if (refusal) throw refusal
    if (method === 'eth_sendRawTransaction') return add(method, params[0] as string, undefined)
    if (method === 'eth_sendPrivateTransaction') {
      const { tx, maxBlockNumber } = params[0] as { tx: string; maxBlockNumber?: string }
      return add(method, tx, maxBlockNumber === undefined ? undefined : Number(maxBlockNumber))
    }
    if (method === 'eth_getTransactionByHash') return [...pool.values()].find(({ hash }) => hash === params[0]) ?? null
    return chain.rpc(method, params)
  }

  const server = createServer(async (request, response) => {
    if (its.isDown) return response.writeHead(503).end()
    const asked: Call | Call[] = JSON.parse(Buffer.concat(await request.toArray()).toString())
    const answers: unknown[] = []
    for (const call of [asked].flat()) {
      const outcome =
        said.get(call.method) ??
        (await answer(call).then(
          (result) => ({ result }),
          ({ code = -32_000, message }) => ({ error: { code, message } }),
        ))
      answers.push({ jsonrpc: '2.0', id: call.id, ...outcome })
    }
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify(Array.isArray(asked) ? answers : answers[0]))
  })
  const url = await listen(server)

  const its: PrivateRelay = {
    url,
    sent,
    timeline,
    watch(proxy) {
      proxy.setLiar((call) => {
        timeline.push(JSON.stringify(call))
        return undefined
      })
    },
    async build() {
      for (const [key, transaction] of [...pool].sort(([, a], [, b]) => a.nonce - b.nonce)) {
        const { from } = signed(transaction)
        const pending = Number(await chain.rpc<string>('eth_getTransactionCount', [from, 'pending']))
        if (transaction.nonce > pending) continue
        timeline.push({ from, nonce: transaction.nonce })
        pool.delete(key)
        if (transaction.nonce === pending) await chain.rpc('eth_sendRawTransaction', [transaction.serialized])
      }
      await chain.mine()
    },
    drop: () => pool.clear(),
    refuse(error) {
      refusal = error
    },
    say: (method, outcome) => said.set(method, outcome),
    isDown: false,
  }
  return its
}

/** The calls of the public node that contain the hash or the bytes of something that was sent before a block used its nonce. */
export function leaksOf({ timeline, sent }: PrivateRelay): string[] {
  const secrets = new Map<string, { from: string; nonce: number }>()
  for (const { transaction } of sent) {
    const { hash, from } = signed(transaction)
    for (const secret of [hash, transaction.serialized]) secrets.set(secret, { from, nonce: transaction.nonce })
  }
  const used = new Set<string>()
  return timeline.flatMap((one) => {
    if (typeof one !== 'string') {
      used.add(`${one.from} ${one.nonce}`)
      return []
    }
    const isLeak = (one.match(/0x[0-9a-f]{64,}/g) ?? []).some((text) => {
      const its = secrets.get(text)
      return its !== undefined && !used.has(`${its.from} ${its.nonce}`)
    })
    return isLeak ? [one] : []
  })
}

const signed = ({ hash, from }: Transaction): { hash: string; from: string } => {
  if (hash === null || from === null) throw new Error('The transaction is not signed')
  return { hash, from: from.toLowerCase() }
}

const priceOf = ({ maxFeePerGas, gasPrice }: Transaction): bigint => maxFeePerGas ?? gasPrice ?? 0n

const rpcError = (message: string) => ({ code: -32_000, message })
