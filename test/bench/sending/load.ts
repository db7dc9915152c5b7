import { request } from 'node:http'
import { apiKey } from './service-process.ts'
import { connections, type Stage } from './stage.ts'
import { read } from './tap.ts'
import { until } from './until.ts'

export interface Post {
  nonce: number
  posted_at: number
  answered_at: number
}

/** Posts so many distinct transactions over kept connections; throws when one of them is not accepted. */
export async function postAll(stage: Stage, count: number, extra: object): Promise<Post[]> {
  const posts: Post[] = []
  const first = stage.posted
  stage.posted += count
  let next = first
  await Promise.all(
    Array.from({ length: Math.min(connections, count) }, async () => {
      while (next < first + count) {
        next += 1
        const body = JSON.stringify({ to: stage.receiver, value: String(next), ...extra })
        const relayer = stage.relayers[next % stage.relayers.length]
        const path = stage.pool === undefined ? `relayers/${relayer?.id}` : `pools/${stage.pool}`
        const postedAt = performance.now()
        const { status, text } = await post(stage, path, body)
        const answeredAt = performance.now()
        if (status !== 201) throw new Error(`The service answers ${status}: ${text}`)
        posts.push({ nonce: JSON.parse(text).data.nonce, posted_at: postedAt, answered_at: answeredAt })
      }
    }),
  )
  return posts
}

function post(
  { agent, service }: Stage,
  path: string,
  body: string,
): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${apiKey}`,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    }
    const outgoing = request(`${service.url}/api/v1/${path}/transactions`, {
      method: 'POST',
      agent,
      headers,
    })
    outgoing.once('error', reject)
    outgoing.once('response', (response) => {
      read(response).then((text) => resolve({ status: response.statusCode, text }), reject)
    })
    outgoing.end(body)
  })
}

/** Until so many transactions of all relayers together are confirmed. */
export async function allConfirmed(
  { client, relayers }: Pick<Stage, 'client' | 'relayers'>,
  count: number,
): Promise<void> {
  const query = { status: ['confirmed' as const], per_page: 0 }
  await until(async () => {
    const pages = await Promise.all(
      relayers.map(({ id }) =>
        client.get('/api/v1/relayers/{relayer_id}/transactions/', { path: { relayer_id: id }, query }),
      ),
    )
    return pages.reduce((sum, { pagination }) => sum + pagination.total_items, 0) >= count
  }, 200)
}

/** Each nonce once, and by the very transaction that the service shows for it. */
export async function assertMinedOnce({ chain, client, relayers }: Stage, count: number): Promise<void> {
  const shown: string[] = []
  for (const { id, address } of relayers) {
    const path = { relayer_id: id }
    for await (const { nonce, hash } of client.all('/api/v1/relayers/{relayer_id}/transactions/', { path })) {
      shown.push(`${address.toLowerCase()} ${nonce} ${hash}`)
    }
  }
  const own = new Set(relayers.map(({ address }) => address.toLowerCase()))
  const mined: string[] = []
  const head = Number(await chain.rpc('eth_blockNumber'))
  for (let number = 0; number <= head; number += 1) {
    const { transactions } = await chain.rpc<Block>('eth_getBlockByNumber', [`0x${number.toString(16)}`, true])
    for (const { from, nonce, hash } of transactions) {
      if (own.has(from.toLowerCase())) mined.push(`${from.toLowerCase()} ${Number(nonce)} ${hash}`)
    }
  }
  const isSame = new Set(shown).size === count && new Set([...shown, ...mined]).size === count
  if (!isSame || mined.length !== count) {
    throw new Error(`${count} were accepted; the service shows ${shown.length}, the chain ${mined.length}, or others`)
  }
}

interface Block {
  transactions: { from: string; nonce: string; hash: string }[]
}

/** When so many transactions of all relayers together are in blocks. */
export async function lastReceiptAt({ chain, relayers }: Pick<Stage, 'chain' | 'relayers'>, count: number) {
  await until(async () => {
    const counts = await Promise.all(
      relayers.map(async ({ address }) => Number(await chain.rpc('eth_getTransactionCount', [address, 'latest']))),
    )
    return counts.reduce((sum, one) => sum + one, 0) >= count
  }, 25)
  return performance.now()
}
