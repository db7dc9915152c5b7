import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Cell, type Part, type PartOptions, parts, runKills, runParts } from './parts.ts'
import { startServers } from './servers.ts'
import type { KeyServers } from './stage.ts'
import { isStageName, type StageName, stages } from './stages.ts'
import { isSound, lineOf, type Table, tableOf } from './table.ts'

// `npm run test:keys [-- --type=vault ... --part=kills ... --transactions=200 --kills=20 --seed=1 --at-once=1]`: signers of each type,
// so many types at once, through what happens to key services: a table, and exit status 1 unless nothing is lost, sent twice or signed
// wrongly. The part `cases` is *.keys.ts here, with vitest; further words go to vitest, and run this part only. AWS KMS is ministack,
// Vault is OpenBao, and PKCS #11 is SoftHSM, which must be installed (apt-get install softhsm2 opensc, and a C compiler); `stand-in` in
// the table marks an interface that was implemented from its documentation.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    type: { type: 'string', multiple: true, default: Object.keys(stages) },
    part: { type: 'string', multiple: true },
    transactions: { type: 'string', default: '200' },
    kills: { type: 'string', default: '20' },
    'at-once': { type: 'string', default: '1' },
    seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
  },
})
const say = (text: string) => void process.stdout.write(text)
const names = values.type.map((name): StageName => {
  if (isStageName(name)) return name
  throw new Error(`There is no type ${name}; there are ${Object.keys(stages).join(', ')}`)
})
const isPart = (name: string): name is Part => parts.some((part) => part === name)
const chosen = values.part ?? (positionals.length > 0 ? ['cases'] : ['cases', ...parts])
for (const name of chosen) {
  if (name !== 'cases' && !isPart(name))
    throw new Error(`There is no part ${name}; there are cases, ${parts.join(', ')}`)
}
const wanted = parts.filter((part) => chosen.includes(part))
// In the order of the rows.
const table: Table = new Map(names.map((name) => [name, new Map()]))

if (!existsSync('node_modules/pkcs11js/build/Release/pkcs11.node')) {
  execFileSync('npm', ['run', '--silent', 'build:pkcs11'], { stdio: 'inherit' })
}

// What runs on when this is interrupted is ended by `exit`.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const needsServers = chosen.includes('cases') || names.some((name) => name === 'aws_kms' || name === 'vault')
const servers = needsServers ? await startServers() : undefined
const options: PartOptions = {
  transactions: Number(values.transactions),
  kills: Number(values.kills),
  seed: Number(values.seed),
  servers: servers ?? {},
}
let isWell = true
try {
  if (chosen.includes('cases') && servers) isWell = runCases(servers)
  const left = [...names]
  const work = async () => {
    for (let name = left.shift(); name; name = left.shift()) await runType(name)
  }
  await Promise.all(Array.from({ length: Number(values['at-once']) }, work))
} finally {
  servers?.stop()
}
if (wanted.length > 0) say(`\n${tableOf(table)}`)
// A stage that could not start may have left something running.
process.exit(isWell ? 0 : 1)

async function runType(name: StageName): Promise<void> {
  const cells = table.get(name) ?? new Map<Part, Cell | Error>()
  const done = (part: Part, cell: Cell | Error) => {
    cells.set(part, cell)
    isWell &&= isSound(cell)
    say(lineOf(name, part, cell))
  }
  const others = wanted.filter((part) => part !== 'kills')
  try {
    if (others.length > 0) await runParts(name, others, options, done)
  } catch (error) {
    done(others.find((part) => !cells.has(part)) ?? 'send', error as Error)
  }
  if (!wanted.includes('kills')) return
  const cell = await runKills(name, options).catch((error: Error) => error)
  done('kills', cell)
}

function runCases({ ministack, openbao }: Required<KeyServers>): boolean {
  const config = join(import.meta.dirname, 'vitest.config.ts')
  const { status } = spawnSync('vitest', ['run', '--config', config, ...positionals], {
    stdio: 'inherit',
    env: {
      ...process.env,
      KEY_KMS_URL: ministack.url,
      ...{ KEY_BAO_URL: openbao.url, KEY_BAO_TOKEN: openbao.token },
    },
  })
  return status === 0
}
