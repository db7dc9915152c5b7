import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RateLimit } from '../../../server/api/http/rate-limit.ts'
import { SharedRateLimit } from '../../../server/api/http/shared-rate-limit.ts'
import { DomainError } from '../../../server/domain/errors.ts'
import { type Connection, connect } from '../../../server/store/postgres/connection.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../../support/database-proxy.ts'
import { startPostgres, stopPostgres, urlOf } from '../../support/postgres-server.ts'
import { until } from '../../support/until.ts'

// Servers that share the bucket of a caller far below its limit, while the database and the network to it fail: none of them may refuse.

const folder = mkdtempSync(join(tmpdir(), 'relayer-buckets-'))
const connections: Connection[] = []
const networks: DatabaseProxy[] = []
const servers: { limit: RateLimit; generation(): Promise<number> }[] = []
/** Advances the clock, so that servers return their unused tokens. */
let aheadMs = 0
const caller = { id: 'everyone', rate_limit: null }

beforeAll(async () => {
  await startPostgres(folder)
  for (let index = 0; index < 3; index += 1) {
    const network = await startDatabaseProxy(urlOf(folder, 'postgres'))
    networks.push(network)
    const { url } = network
    const connection = await connect({ url, max_connections: 2, timeout_ms: 1_000, allow_weak: [] })
    connections.push(connection)
    const { takeTokens } = connection
    if (!takeTokens) throw new Error('The store has no shared buckets')
    const limit = { per_second: 100_000, burst: 100_000 }
    servers.push({
      limit: new SharedRateLimit(limit, takeTokens, () => performance.now() + aheadMs),
      generation: connection.generation,
    })
  }
}, 60_000)

afterAll(async () => {
  await Promise.all(connections.map((connection) => connection.close()))
  await Promise.all(networks.map((network) => network.stop()))
  await stopPostgres(folder, 'immediate')
  rmSync(folder, { recursive: true, force: true })
})

/** `passed`, or the code of the refusal. */
async function ask({ limit, generation }: (typeof servers)[number]): Promise<string> {
  try {
    // Other answers on the same connection.
    await Promise.all([generation(), limit.take(caller)])
    limit.weigh(caller, 1024 * 1024)
    return 'passed'
  } catch (error) {
    if (error instanceof DomainError) return error.code
    throw error
  }
}

/** All servers ask concurrently, each in several turns of the event loop, after their earlier grants have expired. */
function askAll(): Promise<string[]> {
  aheadMs += 2_000
  const turns = [0, 1, 2, 5, 10, 20]
  const later = (server: (typeof servers)[number], ms: number) =>
    new Promise<void>((resolve) => setTimeout(resolve, ms)).then(() => ask(server))
  return Promise.all(servers.flatMap((server) => turns.map((ms) => later(server, ms))))
}

const setFirst = async (state: 'open' | 'closed' | 'silent') => networks[0]?.set(state)
const failures: [name: string, fail: () => Promise<void>, mend: () => Promise<void>][] = [
  ['the connection of a server ends', () => setFirst('closed'), () => setFirst('open')],
  ['the network of a server is silent', () => setFirst('silent'), () => setFirst('open')],
  ['PostgreSQL stops at once', () => stopPostgres(folder, 'immediate'), () => startPostgres(folder)],
  ['a network that is open is opened', () => setFirst('open'), () => setFirst('open')],
]

test.each(failures)(
  'rejects no request for the rate limit, and recovers: %s',
  async (_, fail, mend) => {
    const answers: string[] = []
    const passAll = async () => {
      const all = await askAll()
      answers.push(...all)
      return all.every((answer) => answer === 'passed')
    }
    expect(await passAll()).toBe(true)
    const before = askAll()
    await fail()
    const during = askAll()
    answers.push(...(await before), ...(await during))
    await mend()
    await until('all go on', passAll)
    // The tokens that they took are returned.
    expect(await passAll()).toBe(true)
    expect([...new Set(answers)].filter((answer) => answer !== 'passed' && answer !== 'unavailable')).toEqual([])
  },
  60_000,
)
