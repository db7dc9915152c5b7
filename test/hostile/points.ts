import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inFolder } from '../bench/processes.ts'
import { documentClaims, securityClaims } from '../claims.ts'
import { attack } from './attackers.ts'
import type { Finding, Point } from './finding.ts'
import { startInLaxFolder } from './first-start.ts'
import { killWhileSigning } from './kill-signing.ts'
import type { Reached } from './scene.ts'

// The kinds of attack that the service is hardened against: the effect of each before, its effect now on a service,
// and the tests of its bound. The figures of the other parts have the number of their point (points 1 and 3).

interface Attack {
  what: string
  before: string
  wanted: string
  /** The files of the tests that hold the bound. */
  tests: string[]
}

export const attacks: Record<Point, Attack> = {
  1: {
    what: 'a send key fills its relayer with unpayable transactions of 130 KB',
    before: 'blocks of 5.9 s, dead for good under 768 MB',
    wanted: 'bytes and number of the unfinished are limited; rows are read without data',
    tests: [
      'api/handlers/unfinished-limits',
      'sending/large-transactions',
      'webhooks/event-data',
      'api/http/large-pages',
    ],
  },
  2: {
    what: 'a read key holds the node with slow eth_getLogs, or has it answer 52 MB',
    before: '7 x 503, 1 unfinished in 60 s; blocks of 1-2 s',
    wanted: '16 of 16 confirmed; 502 above 4 MiB',
    tests: ['api/http/caller-shares'],
  },
  3: {
    what: 'a flat RLP list, deep pages, filters and bulk changes',
    before: '132-943 ms, 390 ms, 701 ms, 570 ms, 6.2 s, 4.0 s',
    wanted: 'under 50 ms: see the parts bodies, lists and operations',
    tests: ['store/filtered-lists', 'store/bulk-changes', 'api/http/crowded-bodies'],
  },
  4: {
    what: 'kill -9 before a signature is in the audit trail',
    before: 'written 4.3-6.9 s late, lost in 2 of 4 tries',
    wanted: 'overdue entries are written before other work',
    tests: ['api/http/audit'],
  },
  5: {
    what: 'a lax relayer of the same signer signs what a strict one refuses',
    before: 'an unlimited permit for chain 1 was signed',
    wanted: 'refused',
    tests: ['policies/address-policies'],
  },
  6: {
    what: 'a keystore that is expensive to open',
    before: '406 s and 3.2 GB for n=2, r=1, p=2^23',
    wanted: 'refused before any work; a time limit; others are answered',
    tests: ['keys/keystores'],
  },
  7: {
    what: '2,000 held bodies',
    before: '2.2 GB',
    wanted: '64 MiB of bodies, 16 MiB of one key; connections of one key',
    tests: ['api/http/held-bodies'],
  },
  8: {
    what: "all event streams; replacing without limit; another tenant's notification",
    before: '1,000 of 1,000; unlimited; attached, and told by 200/400',
    wanted: 'a quarter; 429; 404 as if it did not exist',
    tests: ['api/http/caller-shares', 'api/http/rate-limit', 'api/handlers/notification-owners'],
  },
  9: {
    what: 'a folder of others, or a draft made in advance, under the key file',
    before: 'master-key with mode 0666',
    wanted: 'exclusive, mode 0600; refused in production',
    tests: ['keys/master-key'],
  },
  10: {
    what: 'who can write the database forges a key, policies, a URL, or rolls a row back',
    before: 'accepted, and verification passed',
    wanted: '401 or 503, logged and counted',
    tests: ['keys/rights'],
  },
  11: {
    what: 'claims of the documents and SECURITY.md that do not hold',
    before: '4 did not hold',
    wanted: 'each that can be tried is tried; the rest is said plainly',
    tests: ['security-claims', 'claims'],
  },
  12: {
    what: 'a node answers 60 MB, or 20 million values, to the sender',
    before: 'stalls of 32 s, memory 132 MB to 1.67 GB',
    wanted: 'ended at the limit of the method; the next node; parsed apart above 1 MiB',
    tests: ['chain/answer-limits'],
  },
  13: {
    what: 'rights after their end: late bodies, batches, waiting signatures',
    before: '200 of 200 signed; a batch for 39 s; 18 of 20 after a pause',
    wanted: 'no use of a key after the answer to the change',
    tests: ['api/http/revoked-rights'],
  },
  14: {
    what: 'a 429 with Retry-After: 60; four keys with all calls or streams',
    before: 'unreadable for all for 60 s; 1,000 of 1,000 streams',
    wanted: 'at most 2 s, for callers only; a part is left for the next key',
    tests: ['chain/endpoint', 'api/http/caller-shares'],
  },
  15: {
    what: 'changes without limit, beside 900 keys and 2,957 changed URLs',
    before: '600/s, p50 of others 2 to 141 ms; 135 to 774 MB',
    wanted: '429, five requests each; one key read; 300 sets of connections',
    tests: ['api/http/change-floods', 'api/http/rate-limit', 'chain/connections'],
  },
  16: {
    what: 'malformed answers of nodes, and echoes of the key in their URL',
    before: '478 of 14,000 were 500; shown in other case, cut, in base64',
    wanted: '503; redacted',
    tests: ['chain/malformed-answers', 'chain/url-secrets'],
  },
  17: {
    what: 'a private RPC address that was stored before production',
    before: 'called',
    wanted: 'not called, and the log says why',
    tests: ['lib/stored-addresses'],
  },
}

/** One line for each kind of attack. */
export async function points(): Promise<Finding[]> {
  const reached: Partial<Record<Point, Reached>> = {
    ...(await attack()),
    4: await killWhileSigning(),
    9: await startInLaxFolder(),
    11: triedClaims(),
  }
  const findings: Finding[] = []
  for (const [number, { what, before, wanted, tests }] of Object.entries(attacks)) {
    const point = Number(number) as Point
    const { passed, failed } = await resultOf(tests)
    const figure = reached[point]
    const told = failed === 0 ? `${passed} tests hold` : `${failed} of ${passed + failed} tests fail`
    const found = figure === undefined ? told : `${figure.found}; ${told}`
    findings.push({ point, what, before, found, wanted, holds: failed === 0 && passed > 0 && figure?.holds !== false })
  }
  return findings
}

function triedClaims(): Reached {
  const claims = Object.values({ ...securityClaims, ...documentClaims })
  const tried = claims.filter((tests) => tests.length > 0).length
  return { found: `${tried} of ${claims.length} claims tried, the others are warnings`, holds: true }
}

type Result = { passed: number; failed: number }

const results = new Map<string, Promise<Result>>()

/** Of the files of tests, which run once. */
function resultOf(tests: string[]): Promise<Result> {
  const files = tests.map((name) => `test/${name}.test.ts`)
  const result = results.get(files.join()) ?? run(files)
  results.set(files.join(), result)
  return result
}

const root = join(import.meta.dirname, '..', '..')

async function run(files: string[]): Promise<Result> {
  return inFolder(async (folder) => {
    const result = join(folder, 'result.json')
    const reporter = ['--reporter', 'json', '--outputFile', result]
    const args = ['vitest', 'run', '--config', 'test/vitest.config.ts', ...reporter, ...files]
    // It exits with 1 when a test fails, but writes its result.
    await promisify(execFile)('npx', args, { cwd: root, maxBuffer: 2 ** 26 }).catch(() => undefined)
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(result, 'utf8'))
    return { passed: numPassedTests, failed: numFailedTests }
  })
}
