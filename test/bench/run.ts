import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Bench, Case } from './case.ts'
import { groupCommit } from './cases/commits.ts'
import { signBesideKms, signKms } from './cases/key-service.ts'
import { listHundred, listNotifications, listTen } from './cases/lists.ts'
import { memory, mixed, start } from './cases/processes.ts'
import { sign, signAtHalfLoad, signByApiKey, signByContract, signTypedData } from './cases/signing.ts'
import { createNotification, sendTransaction, updateNotification } from './cases/writes.ts'
import { isPinned } from './cores.ts'
import { inFolder } from './processes.ts'
import { machine, print, type Results, say } from './report.ts'

// `npm run bench [-- OPTIONS]`: our server as it is shipped, against a bare one (node:http and the work itself) and a naive one
// (Express, express-openapi-validator by its defaults, ethers), in turns, each on one core with the load on another. The
// figure that counts is the server's CPU time a request: what else runs on the machine changes it least. On Linux.
//   --case NAME    only these cases (may be given several times)
//   --quick        shorter, with fewer rows: shows that all works, and figures to be read with care
//   --rounds N     default 5
//   --seconds N    of load for each contender in each round; default 4
//   --out FILE     where all rounds go as JSON; default relayer-bench.json in the system's folder for temporary files
//   --compare FILE shows the change against an earlier run's JSON
//   --data DIR     keeps the database of a million transactions there for the next run

const cases: Record<string, Case> = {
  sign,
  'sign-typed-data': signTypedData,
  'sign-by-contract': signByContract,
  'sign-by-api-key': signByApiKey,
  'sign-at-half-load': signAtHalfLoad,
  'sign-kms': signKms,
  'sign-beside-kms': signBesideKms,
  'list-10': listTen,
  'list-100': listHundred,
  'list-notifications': listNotifications,
  'create-notification': createNotification,
  'update-notification': updateNotification,
  'send-transaction': sendTransaction,
  'group-commit': groupCommit,
  mixed,
  start,
  memory,
}

// The servers end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const { values } = parseArgs({
  options: {
    case: { type: 'string', multiple: true, default: Object.keys(cases) },
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    out: { type: 'string', default: join(tmpdir(), 'relayer-bench.json') },
    compare: { type: 'string' },
    data: { type: 'string' },
  },
})
const earlier: Results = values.compare ? JSON.parse(readFileSync(values.compare, 'utf8')).results : {}
const results: Results = {}
say(`${JSON.stringify(machine())}`)
if (!isPinned) say('Nothing is pinned to a core here (taskset and a second core are needed): ratios will spread more.')

await inFolder(async (folder) => {
  const bench: Bench = {
    quick: values.quick,
    rounds: Number(values.rounds ?? (values.quick ? 2 : 5)),
    seconds: Number(values.seconds ?? (values.quick ? 1 : 4)),
    history_dir: resolve(values.data ?? folder),
  }
  mkdirSync(bench.history_dir, { recursive: true })
  for (const name of values.case) {
    const run = cases[name]
    if (!run) throw new Error(`There is no case ${name}; there are ${Object.keys(cases).join(', ')}`)
    const result = await run(bench)
    results[name] = result
    print(name, result, earlier[name])
    writeFileSync(values.out, `${JSON.stringify({ machine: machine(), bench, results })}\n`)
  }
})
say(`\nAll rounds are in ${values.out}`)
