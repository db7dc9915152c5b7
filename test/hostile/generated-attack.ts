import { Agent } from 'node:http'
import { getPriority, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import fc from 'fast-check'
import type { Anvil } from '../support/anvil.ts'
import { type ContractOperation, operationOf, operations } from '../support/contract.ts'
import { judge } from '../support/judge-answer.ts'
import { type Remembered, rememberIds } from '../support/remembered.ts'
import { requestArbitrary, type TestRequest } from '../support/request-arbitrary.ts'
import { isBearable, requestHints } from '../support/request-hints.ts'
import { schemaArbitrary } from '../support/schema-arbitrary.ts'
import { type Answer, isStream, sendRequest } from '../support/send-request.ts'

// The attacker of generated.ts, a separate thread: takes a GeneratedAttack as workerData. Each message is a Round, for whose duration it
// sends requests that are generated from the contract. Then it posts a RoundResult.

export interface GeneratedAttack {
  url: string
  /** Of the unlimited key, with which it learns what there is. */
  token: string
  /** What generated requests need of the chain. */
  chain: Pick<Anvil, 'url' | 'chain_id' | 'accounts'>
  /** Text that no answer contains. */
  secrets: string[]
  /** Text in things of others that no answer to a limited key contains. */
  foreign: string
}

export interface AttackingKey {
  kind: string
  token: string
  /** Of which an operation needs one, if it needs any. */
  scopes: string[]
  /** Whether it sees the things of others. */
  sees_all: boolean
  /** Whether the service knows it. */
  is_known: boolean
}

export interface Round {
  seed: number
  /** The ids of its tenant begin with it. */
  tenant: string
  duration_ms: number
  keys: AttackingKey[]
}

export interface RoundResult {
  sent: number
  by_status: Record<number, number>
  /** What answers 503 said. */
  unavailable: Record<string, number>
  /** The operations that a key succeeded with. */
  succeeded: string[]
  problems: string[]
}

const atOnce = 16
const batch = 32
const maxProblems = 20
const niceness = 5
const maxNiceness = 19
const deadlineMs = 120_000
const maxBodyBytes = 2 ** 20
const lists = ['/networks', '/signers', '/relayers', '/pools', '/notifications', '/sponsorships', '/api-keys', '/abis']
const maxAbsentFactor = 0.02

const { url, token, chain, secrets, foreign } = workerData as GeneratedAttack
const agent = new Agent({ keepAlive: true, maxSockets: 2 * atOnce })

/** Ids of the tenant and of others, but not of the tenants before. */
async function learnAll(remembered: Remembered, tenant: string): Promise<void> {
  const isOld = (id: string) => id.startsWith('tenant-') && !id.startsWith(`${tenant}-`)
  const read = async (path: string) => {
    const operation = operationOf('GET', path) as ContractOperation
    const answer = await fetch(`${url}${path}?per_page=1000`, { headers: { Authorization: `Bearer ${token}` } })
    const { data } = (await answer.json()) as { data: { id: string }[] }
    const items = data.filter(({ id }) => !isOld(id)).slice(0, 50)
    remembered.learn(operation, path, items)
    return items
  }
  for (const list of lists) {
    const items = await read(`/api/v1${list}`)
    if (list !== '/relayers') continue
    for (const { id } of items) await read(`/api/v1${list}/${encodeURIComponent(id)}/transactions/`)
  }
}

async function attack({ seed, tenant, duration_ms, keys }: Round): Promise<RoundResult> {
  const remembered = rememberIds()
  await learnAll(remembered, tenant)
  const requestsOf = keys.map((key) => {
    const world = { schemas: schemaArbitrary(requestHints(remembered, chain as Anvil)), remembered, token: key.token }
    const may = ({ roles }: ContractOperation) => roles.length === 0 || roles.some((role) => key.scopes.includes(role))
    const each = operations.map((operation) => ({
      // Otherwise, most would be refused for their scope, and no resources would soon be left.
      weight: (may(operation) ? 6 : 1) * (operation.method === 'DELETE' ? 1 : 4),
      arbitrary: requestArbitrary(operation, world).filter(({ body }) => isBearable(body)),
    }))
    return { key, any: fc.oneof(...each) }
  })
  const result: RoundResult = { sent: 0, by_status: {}, unavailable: {}, succeeded: [], problems: [] }
  const succeeded = new Set<string>()
  const end = performance.now() + duration_ms
  let queue: { request: TestRequest; key: AttackingKey }[] = []
  let drawn = 0

  const next = () => {
    if (queue.length === 0) {
      const { key, any } = requestsOf[drawn % requestsOf.length] as (typeof requestsOf)[number]
      queue = fc.sample(any, { seed: seed + drawn, numRuns: batch }).map((request) => ({ request, key }))
      drawn += 1
    }
    return queue.pop() as (typeof queue)[number]
  }

  const work = async () => {
    while (performance.now() < end && result.problems.length < maxProblems) {
      const { request, key } = next()
      const operation = operationOf(request.method, request.target)
      const authorized = request.authorized && key.is_known
      try {
        const answer = await within(sendRequest(url, agent, request))
        result.by_status[answer.status] = (result.by_status[answer.status] ?? 0) + 1
        if (answer.status === 503) count(result.unavailable, answer.text)
        // A path that no request may have, and what a browser asks before it sends a token, are answered before the token is looked at.
        const isEarly = /[#\\]/.test(request.target) || request.method === 'OPTIONS'
        const judged = { ...request, authorized: authorized || (isEarly && answer.status !== 401) }
        const problem = judge(judged, operation, answer) ?? leakOf(key, request, answer)
        if (problem !== undefined) result.problems.push(`${key.kind}: ${problem}\n  ${describe(request)}`)
        if (operation && answer.status < 300) {
          succeeded.add(operation.id)
          if (!isStream(answer) && answer.text !== '') {
            remembered.learn(operation, request.target, JSON.parse(answer.text).data)
          }
        }
        // What one key may not see is there for another one.
        if (operation && answer.status === 404 && Math.random() < maxAbsentFactor) {
          remembered.forget(operation, request.target)
        }
      } catch (error) {
        // A connection may end while a large body is written that nobody reads; a request that cannot be read is answered as if it were no HEAD.
        const isLarge = Buffer.byteLength(request.body ?? '') >= maxBodyBytes && `${error}`.includes('EPIPE')
        if (isLarge || (request.method === 'HEAD' && `${error}`.includes('Parse Error'))) continue
        result.problems.push(`${key.kind}: no answer: ${error}\n  ${describe(request)}`)
      }
      result.sent += 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return { ...result, succeeded: [...succeeded] }
}

function count(unavailable: RoundResult['unavailable'], text: string): void {
  const said = /"message":"([^"]*)"\}\]/.exec(text)?.[1] ?? text.slice(0, 200)
  unavailable[said] = (unavailable[said] ?? 0) + 1
}

function within<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing for ${deadlineMs} ms`)), deadlineMs)
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}

function leakOf(key: AttackingKey, { body = '' }: TestRequest, { status, text }: Answer): string | undefined {
  const secret = secrets.find((one) => text.includes(one))
  if (secret !== undefined) return `${status} shows the secret ${secret.slice(0, 12)}`
  const isShown = !key.sees_all && text.includes(foreign) && !body.includes(foreign)
  return isShown ? `${status} shows what is of others: ${text.slice(0, 700)}` : undefined
}

function describe({ method, target, headers, body = '' }: TestRequest): string {
  const type = headers['Content-Type'] === undefined ? '' : ` (${headers['Content-Type']})`
  const length = Buffer.byteLength(body)
  return `${method} ${target.slice(0, 300)}${type}, ${length} bytes: ${body.toString('utf8').slice(0, 700)}`
}

// The other callers share the core. A low priority keeps this thread from adding to their latencies.
setPriority(Math.min(getPriority() + niceness, maxNiceness))
parentPort?.on('message', async (round: Round) => {
  parentPort?.postMessage(await attack(round))
})
