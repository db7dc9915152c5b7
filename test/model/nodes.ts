import type { Post } from '../../server/chain/post.ts'
import type { ChainModel } from './chain.ts'
import { lies, type Misbehavior, priceLies, relayTroubles, troubles } from './misbehavior.ts'
import { type Answer, answerAsRelay, answerHonestly, type Call } from './node.ts'

export const misbehaviors: Record<string, Misbehavior> = { ...troubles, ...lies, ...priceLies, ...relayTroubles }

/** The nodes of one chain, each with its own manner. */
export interface Nodes {
  urls: string[]
  relay_url: string
  /** Absent: honest. The private relay follows the nodes. */
  setManner(node: number, name: string | undefined): void
  /** How the service reaches them. `isCut`: whether the process that asks is dead. */
  openPost(isCut: () => boolean): (url: string) => Post
}

export interface NodesWorld {
  chain: ChainModel
  address(): string
  /** Something happened. */
  active(): void
  /** Every raw transaction, before a node has it (`before`) and after. `isPublic`: the node is no private relay. */
  sending(raw: string, before: boolean, isPublic: boolean): void
  /** Another call to a public node. */
  asking(call: Call): void
  /** What that node answers. */
  answered(call: Call, answer: Answer): void
}

const maxBodyBytes = 600

export function createNodes(count: number, { chain, address, active, sending, asking, answered }: NodesWorld): Nodes {
  const manners: (string | undefined)[] = Array.from({ length: count + 1 })
  let turn = 0
  const all = manners.map((_, node) => `http://127.0.0.1:9/node-${node}`)

  const answer = (call: Call, { answer: lie }: Misbehavior, isPublic: boolean): Answer => {
    const honest = (other = call) => (isPublic ? answerHonestly(chain, other) : answerAsRelay(chain, other))
    turn += 1
    return lie?.(call, honest, { chain, address: address(), turn }) ?? honest()
  }

  async function exchange(node: number, body: string, timeoutMs: number) {
    const manner = misbehaviors[manners[node] ?? ''] ?? {}
    const parsed: Call | Call[] = JSON.parse(body)
    const { request } = manner
    if (request === 'unreachable') throw new Error('connect ECONNREFUSED')
    if (request === 'hang') await new Promise((resolve) => setTimeout(resolve, timeoutMs))
    if (request === 'hang') throw new Error('No answer in time')
    const said = (status: number, text: string) => ({ status, retry_after_s: undefined, text })
    if (request === 'http_500') return said(500, 'Internal Server Error')
    if (request === 'body_limit' && body.length > maxBodyBytes) return said(413, 'content length too large')
    if (request === 'no_batches' && Array.isArray(parsed)) {
      const error = { code: -32_600, message: 'batch requests are not supported' }
      return said(200, JSON.stringify({ jsonrpc: '2.0', id: null, error }))
    }
    const answers = [parsed].flat().map((call) => {
      const isSend = call.method === 'eth_sendRawTransaction'
      const isPublic = node < count
      if (isSend) sending(`${call.params[0]}`, true, isPublic)
      else if (isPublic) asking(call)
      const its = answer(call, manner, isPublic)
      if (isSend) sending(`${call.params[0]}`, false, isPublic)
      else if (isPublic) answered(call, its)
      return { jsonrpc: '2.0', id: call.id, ...its }
    })
    return said(200, JSON.stringify(Array.isArray(parsed) ? answers : answers[0]))
  }

  return {
    urls: all.slice(0, count),
    relay_url: all[count] as string,
    setManner(node, name) {
      manners[node] = name
    },
    openPost: (isCut) => (url) => async (body, timeoutMs) => {
      const refuseIfCut = () => {
        if (isCut()) throw new Error('The process is dead')
      }
      refuseIfCut()
      active()
      // An answer never comes in the same turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve))
      refuseIfCut()
      const answered = await exchange(all.indexOf(url), body, timeoutMs)
      active()
      refuseIfCut()
      return { ...answered, json: async () => JSON.parse(answered.text) }
    },
  }
}
