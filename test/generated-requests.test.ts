import { Agent, type IncomingHttpHeaders, request as open } from 'node:http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type ContractOperation,
  operationOf,
  operations,
  queryFault,
  requestFault,
  responseFault,
} from './support/contract.ts'
import { deep } from './support/mutation.ts'
import { rememberIds } from './support/remembered.ts'
import { requestArbitrary, type TestRequest } from './support/request-arbitrary.ts'
import { schemaArbitrary } from './support/schema-arbitrary.ts'
import { startTestService } from './support/service.ts'

const count = Number(process.env.FUZZ_REQUESTS ?? 50_000)
const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
const in_flight = 16
/** Requests are made in lots, so that they name what earlier ones created. */
const lot = 64
const max_problems = 10

/** Stands in every secret that is sent, so that one search finds any of them. */
const mark = 'c0ffee5ec2e7'
const plantedKeys = Array.from({ length: 64 }, (_, index) => mark.padEnd(62, '0') + (index + 16).toString(16))

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

test(`${count} generated requests keep to the contract`, { timeout: 900_000 }, async () => {
  process.stdout.write(`generated requests: FUZZ_SEED=${seed} FUZZ_REQUESTS=${count}\n`)
  const service = await startTestService({ RATE_LIMIT_PER_SECOND: '1000000', RATE_LIMIT_BURST: '10000000' })
  const remembered = rememberIds()
  const world = { schemas: schemaArbitrary(hints(remembered)), remembered, token: service.api_key }
  const any = fc.oneof(...operations.map((operation) => requestArbitrary(operation, world)))

  const agent = new Agent({ keepAlive: true, maxSockets: in_flight })
  const byStatus: Record<number, number> = {}
  const succeeded = new Set<string>()
  const problems: string[] = []
  let sent = 0

  const work = async (queue: TestRequest[]) => {
    for (let request = queue.pop(); request; request = queue.pop()) {
      const operation = operationOf(request.method, request.target)
      let problem: string | undefined
      try {
        const answer = await send(service.url, agent, request)
        byStatus[answer.status] = (byStatus[answer.status] ?? 0) + 1
        if (operation && answer.status < 300) {
          succeeded.add(operation.id)
          remembered.learn(operation, request.target, JSON.parse(answer.text).data)
        }
        problem = judge(request, operation, answer)
      } catch (error) {
        problem = `no answer: ${error}`
      }
      sent += 1
      if (problem !== undefined) problems.push(`${problem}\n  ${describe(request)}`)
    }
  }

  for (let start = 0; start < count && problems.length < max_problems; start += lot) {
    const queue = fc.sample(any, { seed: seed + start, numRuns: Math.min(lot, count - start) })
    await Promise.all(Array.from({ length: in_flight }, () => work(queue)))
  }
  agent.destroy()
  process.stdout.write(
    `${sent} generated requests, ${operations.length} operations, by status ${JSON.stringify(byStatus)}\n`,
  )

  expect(problems.slice(0, max_problems).join('\n\n')).toBe('')
  expect(operations.map(({ id }) => id).filter((id) => !succeeded.has(id))).toEqual([])
  const log = service.logged.join('')
  expect(service.logged.filter((line) => /a request failed|breaks the contract/.test(line))).toEqual([])
  expect(log.toLowerCase()).not.toContain(mark)
  expect(log).not.toContain(service.api_key)
})

/** What no schema can say: which ids exist, and which values are secret. */
function hints(remembered: ReturnType<typeof rememberIds>) {
  const ids = remembered.parameters.map((name) => [name, remembered.idOf(name) ?? fc.constant('demo')] as const)
  const network = remembered.idOf('network_id')?.map((id) => id.replace(/^evm:/, '')) ?? fc.constant('local')
  const key = fc.constantFrom(...plantedKeys, ...plantedKeys.map((hex) => `0x${hex.toUpperCase()}`))
  const secret = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => `${mark}${text}`)
  const address = fc.stringMatching(/^0x[0-9a-f]{40}$/)
  // Cheap to derive, and never right: what a keystore costs is not this test's matter.
  const keystore = fc.record({
    version: fc.constantFrom(3, 4, '3'),
    id: fc.uuid(),
    crypto: fc.record({
      cipher: fc.constantFrom('aes-128-ctr', 'none'),
      cipherparams: fc.constant({ iv: 'ab'.repeat(16) }),
      ciphertext: fc.constant(mark.padEnd(64, 'ab')),
      kdf: fc.constantFrom('scrypt', 'pbkdf2', ''),
      kdfparams: fc.record({
        n: fc.constantFrom(2, 3, 2 ** 30),
        r: fc.constant(1),
        p: fc.constant(1),
        dklen: fc.nat(64),
        salt: fc.constant('00'),
      }),
      mac: fc.constantFrom('ab'.repeat(32), deep),
    }),
  })
  return {
    properties: {
      ...Object.fromEntries(ids),
      network,
      key,
      keystore,
      signing_key: fc.oneof(secret, fc.constantFrom('', null)),
      passphrase: secret,
      whitelist_receivers: fc.array(address, { maxLength: 4 }),
    },
    rare: ['KeystoreSignerRequest'],
  }
}

function send(url: string, agent: Agent, { method, target, headers: given, body }: TestRequest): Promise<Answer> {
  // Node's client writes a body of GET without saying how long it is, and the next request would begin inside it.
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
  const headers = { ...given, ...length }
  return new Promise((resolve, reject) => {
    const request = open(url, { agent, method, path: target, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response
        resolve({ status, headers, text: Buffer.concat(chunks).toString('utf8') })
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** What is wrong with the answer; undefined when nothing is. */
function judge(request: TestRequest, operation: ContractOperation | undefined, answer: Answer): string | undefined {
  const { status, headers, text } = answer
  const wrong = (what: string) => `${status} ${what}: ${text.slice(0, 500)}`
  if (status >= 500 && !(status === 503 && operation?.statuses.includes(503)))
    return wrong('is a failure of the server')
  if (!/^application\/json(; charset=utf-8)?$/.test(headers['content-type'] ?? '')) return wrong('is not JSON')
  if (status === 400 && headers.connection === 'close') return wrong('is of Node: it could not read the request')
  if (status === 401 && !headers['www-authenticate']) return wrong('without WWW-Authenticate')
  if (status === 405 && !headers.allow) return wrong('without Allow')
  const guarded = operation?.guarded ?? true
  if (guarded && request.authorized === (status === 401)) return wrong('is the wrong answer to its token')
  if (request.method === 'HEAD') return text === '' ? undefined : wrong('to HEAD has a body')
  if (/\n\s+at |node_modules|"stack"|\.ts:\d/.test(text)) return wrong('shows a stack trace')
  if (text.toLowerCase().includes(mark)) return wrong('shows a secret')
  const broken = responseFault(operation, status, headers, JSON.parse(text))
  if (broken !== undefined) return wrong(`breaks the contract (${broken})`)
  const served = status < 300 && operation ? acceptanceFault(request, operation) : undefined
  return served === undefined ? undefined : wrong(`accepts what the contract refuses (${served})`)
}

/** Why the contract refuses this request, which was served. */
function acceptanceFault({ target, headers, body }: TestRequest, operation: ContractOperation): string | undefined {
  const query = queryFault(operation, target)
  if (query !== undefined || Object.keys(operation.bodies).length === 0) return query
  // Of two Content-Type headers Node keeps the first.
  const mediaType = String([headers['Content-Type']].flat()[0]).split(';')[0]?.trim().toLowerCase() ?? ''
  if (!(mediaType in operation.bodies)) return `media type ${mediaType}`
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(body ?? ''))
  return requestFault(operation, mediaType, JSON.parse(text))
}

function describe({ method, target, headers, body = '' }: TestRequest): string {
  const type = headers['Content-Type'] === undefined ? '' : ` (${headers['Content-Type']})`
  return `${method} ${target.slice(0, 300)}${type} ${body.toString('utf8').slice(0, 700)}`
}
