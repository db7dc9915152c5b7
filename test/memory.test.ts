import { Agent, request as open } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { startTestService, type TestService } from './support/service.ts'

const requests = 1_000
const maxGrowthBytes = 10 * 1024 * 1024

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** The heap in use after a garbage collection. The second collection frees objects that the first one finalized. */
function heapBytes(): number {
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

function statusOf({ url, api_key }: TestService, agent: Agent, contentType: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${api_key}`, 'Content-Type': contentType }
    const request = open(`${url}/api/v1/relayers/demo/sign`, { agent, method: 'POST', headers }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode))
    })
    request.on('error', reject)
    request.end('{"message":"Hello"}')
  })
}

/** Sends as many requests as asked for, each with a type of its own, and counts the answers by status. */
async function send(service: TestService, agent: Agent, count: number, typeOf: (index: number) => string) {
  const byStatus: Record<string, number> = {}
  for (let index = 0; index < count; index += 1) {
    const status = String(await statusOf(service, agent, typeOf(index)))
    byStatus[status] = (byStatus[status] ?? 0) + 1
  }
  return byStatus
}

/*
 * express-openapi-validator keeps a validator for each Content-Type that it is sent, of about 200 kB: 2,500 of them were
 * half a gigabyte, and anybody could send more.
 */
test.each([
  ['parameters', '200', (index: number) => `application/json; charset=utf-8; boundary=b${index}`],
  ['parameters without a charset', '200', (index: number) => `application/json;p${index}=${index}`],
  ['ways to write it', '200', (index: number) => `${spelling(index)};charset=UTF-8`],
  ['types', '415', (index: number) => `application/x-${index}`],
])(
  'does not grow the heap by a thousand different %s of a content type',
  { timeout: 600_000 },
  async (_, status, typeOf) => {
    const service = await startTestService({ RATE_LIMIT_BURST: '1000000' })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    // The first requests fill caches and compile code, which is not a leak.
    await send(service, agent, 300, () => (status === '200' ? 'application/json' : 'text/plain'))

    const before = heapBytes()
    expect(await send(service, agent, requests, typeOf)).toEqual({ [status]: requests })
    const growthBytes = heapBytes() - before
    agent.destroy()
    expect(growthBytes).toBeLessThan(maxGrowthBytes)
  },
)

/** One of 32,768 mixtures of upper and lower case. */
function spelling(index: number): string {
  let bit = 0
  return 'application/json'.replaceAll(/[a-z]/g, (letter) => {
    const upper = (index >> bit) & 1
    bit += 1
    return upper ? letter.toUpperCase() : letter
  })
}
