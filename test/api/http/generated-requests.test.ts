import { Agent } from 'node:http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Anvil } from '../../support/anvil.ts'
import { pathOf } from '../../support/bad-parts.ts'
import { testChain } from '../../support/chain.ts'
import { type ContractOperation, operationOf, operations, parametersIn } from '../../support/contract.ts'
import { directedRequests } from '../../support/directed-requests.ts'
import { hostFault, judge } from '../../support/judge-answer.ts'
import { testLiar } from '../../support/liar.ts'
import { type Remembered, rememberIds } from '../../support/remembered.ts'
import { requestArbitrary, type TestRequest } from '../../support/request-arbitrary.ts'
import { deadUrl, isBearable, mark, requestHints } from '../../support/request-hints.ts'
import { schemaArbitrary } from '../../support/schema-arbitrary.ts'
import { type Answer, isStream, sendRequest } from '../../support/send-request.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const count = Number(process.env.FUZZ_REQUESTS ?? 5_000)
const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
const inFlight = 16
/** Requests are generated in batches, so that they use ids from earlier responses. */
const batch = 64
const maxProblems = 10
const balance = 10n ** 24n

test(`answers ${count} generated requests as the contract states`, { timeout: 900_000 }, async () => {
  process.stdout.write(`generated requests: FUZZ_SEED=${seed} FUZZ_REQUESTS=${count}\n`)
  // Slow enough for a transaction to be replaced and canceled before it is mined.
  const chain = await testChain({ blockTime_s: 1 })
  const node = await testLiar(chain)
  const service = await startTestService({
    RATE_LIMIT_PER_SECOND: '1000000',
    RATE_LIMIT_BURST: '10000000',
  })
  const remembered = rememberIds()
  const learn = learner(remembered, chain)
  await beginOn(chain, service, learn)
  const world = { schemas: schemaArbitrary(requestHints(remembered, chain)), remembered, token: service.api_key }
  const any = fc.oneof(
    ...operations.map((operation) => ({
      // Otherwise, no resources would soon be left.
      weight: operation.method === 'DELETE' ? 1 : 2,
      arbitrary: requestArbitrary(operation, world).filter(({ body }) => isBearable(body)),
    })),
  )

  const agent = new Agent({ keepAlive: true, maxSockets: inFlight })
  const hosts = new Set([chain.url, node.url, deadUrl].map((url) => new URL(url).host))
  const byStatus: Record<number, number> = {}
  const succeeded = new Set<string>()
  const problems: string[] = []
  const answeredOnce = new Map<TestRequest, string>()
  let queue: TestRequest[] = []
  let made = 0
  let sent = 0

  const next = () => {
    if (queue.length === 0 && made < count && problems.length < maxProblems) {
      const requests = fc.sample(any, { seed: seed + made, numRuns: Math.min(batch, count - made) })
      made += requests.length
      // A request with an Idempotency-Key is sent twice, at nearly the same time.
      queue = requests.flatMap((request) => (keyOf(request) === undefined ? [request] : [request, request]))
    }
    return queue.pop()
  }

  const exchange = async (request: TestRequest): Promise<Answer | undefined> => {
    const operation = operationOf(request.method, request.target)
    let problem: string | undefined
    let answer: Answer | undefined
    try {
      answer = await sendRequest(service.url, agent, request)
      byStatus[answer.status] = (byStatus[answer.status] ?? 0) + 1
      problem = judge(request, operation, answer)
      if (operation && answer.status < 300) {
        succeeded.add(operation.id)
        if (!isStream(answer)) {
          problem ??= hostFault(answer, hosts) ?? repetitionFault(request, operation, answer, answeredOnce)
          if (answer.text !== '') await learn(operation, request.target, JSON.parse(answer.text).data)
        }
      }
      if (operation && answer.status === 404) remembered.forget(operation, request.target)
    } catch (error) {
      problem = `no answer: ${error}`
    }
    sent += 1
    if (problem !== undefined) problems.push(`${problem}\n  ${describe(request)}`)
    return answer
  }

  const work = async () => {
    for (let request = next(); request; request = next()) await exchange(request)
  }

  /** Each operation succeeds once, whatever the seed is, and before and after the random requests. */
  const ask = async (operationId: string, ids: string[] = [], body?: unknown, token = service.api_key) => {
    const operation = operations.find(({ id }) => id === operationId) as ContractOperation
    const answer = await exchange(directed(operation, ids, body, token))
    if (answer === undefined || answer.status >= 300) throw new Error(`${operationId}: ${answer?.text}`)
    if (isStream(answer)) return undefined
    const whole = JSON.parse(answer.text)
    // An answer of x402 has no envelope.
    return 'data' in whole ? whole.data : whole
  }

  await directedRequests('before', { chain, node, dead_url: deadUrl }, ask)
  expect(operations.map(({ id }) => id).filter((id) => !succeeded.has(id))).toEqual([])
  succeeded.clear()
  await Promise.all(Array.from({ length: inFlight }, work))
  const atRandom = succeeded.size
  await directedRequests('after', { chain, node, dead_url: deadUrl }, ask)
  agent.destroy()
  process.stdout.write(
    `${sent} generated requests, by status ${JSON.stringify(byStatus)}; ${atRandom} of ${operations.length} operations succeeded\n`,
  )

  expect(problems.slice(0, maxProblems).join('\n\n')).toBe('')
  const log = service.logged.join('')
  expect(service.logged.filter((line) => /"level":[56]0|breaks the contract/.test(line))).toEqual([])
  expect(log.toLowerCase()).not.toContain(mark)
  expect(log).not.toContain(service.api_key)
})

function directed(operation: ContractOperation, ids: string[], body: unknown, token: string): TestRequest {
  const { method } = operation
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'If-Match': '*' }
  const query = operation.parameters.filter((its) => its.in === 'query')
  const required = query.filter((its) => its.required).map(({ name }) => `${name}=demo`)
  // The random requests leave more problems than a page has.
  const all = [...required, ...(query.some(({ name }) => name === 'per_page') ? ['per_page=1000'] : [])]
  const target = `${pathOf(operation, ids, false)}${all.length > 0 ? `?${all.join('&')}` : ''}`
  return { method, target, authorized: true, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
}

/** The network `local` is the test's own chain; the resources of the first start are registered. */
async function beginOn(chain: Anvil, { client }: TestService, learn: ReturnType<typeof learner>): Promise<void> {
  const body = { rpc_urls: [chain.url], average_blocktime_ms: 1_000 }
  await client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body })
  for (const path of ['/api/v1/networks', '/api/v1/signers', '/api/v1/relayers'] as const) {
    const operation = operationOf('GET', path) as ContractOperation
    await learn(operation, path, (await client.get(path)).data)
  }
}

/** Remembers the ids in a successful response, and funds every account in it. */
function learner(remembered: Remembered, chain: Anvil) {
  const funded = new Set<string>()
  return async (operation: ContractOperation, target: string, data: unknown) => {
    for (const item of [data].flat()) {
      const { address } = (item ?? {}) as { address?: unknown }
      if (typeof address !== 'string' || funded.has(address)) continue
      funded.add(address)
      await chain.setBalance(address, balance)
    }
    remembered.learn(operation, target, data)
  }
}

/** Checks that requests with the same Idempotency-Key create one transaction. */
function repetitionFault(
  request: TestRequest,
  operation: ContractOperation,
  { text }: Answer,
  answers: Map<TestRequest, string>,
): string | undefined {
  if (keyOf(request) === undefined || parametersIn(operation, 'header').length === 0) return undefined
  // Its response has no envelope; tests in test/api/json-rpc cover its repetitions.
  if (/\/(?:json-)?rpc$/.test(operation.path)) return undefined
  const { id } = JSON.parse(text).data
  const first = answers.get(request) ?? id
  answers.set(request, first)
  return first === id ? undefined : `one Idempotency-Key has made two transactions: ${first} and ${id}`
}

const keyOf = ({ headers }: TestRequest) => headers['Idempotency-Key']

function describe({ method, target, headers, body = '' }: TestRequest): string {
  const type = headers['Content-Type'] === undefined ? '' : ` (${headers['Content-Type']})`
  return `${method} ${target.slice(0, 300)}${type} ${body.toString('utf8').slice(0, 700)}`
}
