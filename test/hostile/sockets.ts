import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createRelayerClient } from '../../client/index.ts'
import { apiKey, inFolder, putLoad, startOurs, withServers } from '../bench/processes.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import type { Attack, Damage } from './attack.ts'
import { prepareDemo, prepareLongList } from './demo.ts'
import type { Finding } from './finding.ts'
import { memoryOf } from './memory-of.ts'
import { kindOf, kinds, names } from './slow-sockets.ts'

const count = 5_000
/** The default timeouts of server/api/http/server.ts. */
const timesMs = { none: 0, headers: 10_000, request: 30_000, answer: 30_000, idle: 60_000 }
/** The service checks once a second, keeps idle sockets a second longer and sends a response first; a byte a second shows the end. */
const slackMs = 6_000
const deadlineMs = timesMs.idle + 20_000
const rate = 100
const seconds = 75
const maxP99Ms = 100
const maxGrowthMb = 300
const neededFiles = count + 500

/** 5,000 slow sockets at once, while 100 messages a second are signed. */
export function sockets(): Promise<Finding[]> {
  checkFiles()
  return inFolder((folder) =>
    withServers([() => startOurs(folder)], async (server) => {
      if (!server) throw new Error('There is no server')
      await prepareDemo(server.url)
      await prepareLongList(createRelayerClient({ baseUrl: server.url, token: apiKey, fetch: asOnlyWriter }))
      const load = { url: server.url, pid: server.pid, connections: 20, requests: [signing] }
      const { p99_ms: calmMs = 0 } = await putLoad({ ...load, seconds: 5, rate })
      const beforeMb = memoryOf(server.pid, 'VmHWM')
      const [damage, { p99_ms = Number.POSITIVE_INFINITY, others_percent = 0 }] = await Promise.all([
        attack({ url: server.url, token: apiKey, count, deadline_ms: deadlineMs }),
        putLoad({ ...load, seconds, rate }),
      ])
      const growthMb = memoryOf(server.pid, 'VmHWM') - beforeMb
      return [
        ...names.map((name) => lastedWell(name, damage)),
        { what: 'still open at the end', found: `${damage.left}`, wanted: '0', holds: damage.left === 0 },
        {
          // The CPU time of other programs includes the attacker's.
          what: `99th percentile of ${seconds * rate} signatures (calm: ${calmMs.toFixed(1)} ms), while other programs took ${others_percent.toFixed(0)} % of a core`,
          found: `${p99_ms.toFixed(1)} ms`,
          wanted: `under ${maxP99Ms} ms`,
          holds: p99_ms < maxP99Ms,
        },
        {
          what: `growth of memory at its peak, from ${beforeMb.toFixed(0)} MB`,
          found: `${growthMb.toFixed(0)} MB`,
          wanted: `at most ${maxGrowthMb} MB`,
          holds: growthMb <= maxGrowthMb,
        },
      ]
    }),
  )
}

const signing = {
  method: 'POST' as const,
  path: '/api/v1/relayers/demo/sign',
  headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
  body: '{"message":"Hello"}',
}

function lastedWell(name: (typeof names)[number], { lasted }: Damage): Finding {
  const limitMs = timesMs[kinds[name].over] + slackMs
  const longestMs = Math.max(...lasted[name])
  const expected = Array.from({ length: count }, (_, index) => kindOf(index)).filter((kind) => kind === name).length
  return {
    what: `${name}: ${lasted[name].length} sockets cut, the last after`,
    found: `${(longestMs / 1_000).toFixed(1)} s`,
    wanted: `at most ${limitMs / 1_000} s`,
    holds: lasted[name].length === expected && longestMs <= limitMs,
  }
}

async function attack(parameters: Attack): Promise<Damage> {
  const args = [join(import.meta.dirname, 'attack.ts'), JSON.stringify(parameters)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 })
  return JSON.parse(stdout)
}

/** Each socket is a file, here and there. */
function checkFiles(): void {
  const limit = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  if (limit !== 'unlimited' && Number(limit) < neededFiles) {
    throw new Error(`It takes ${neededFiles} open files, and ${limit} are allowed: see ulimit -n`)
  }
}
