import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startPostgres, stopPostgres, urlOf } from '../support/postgres-server.ts'
import { runScale } from './scale.ts'

// `npm run model:scale [-- --servers 20 --relayers 1000 --kills 3 --stalls 3 --stops 3 --seed 1]`: how servers on one PostgreSQL database
// share relayers, with the leases and the worker of the service, in virtual time, while servers fail. Fails unless all work is done, once.

const { values } = parseArgs({
  options: {
    servers: { type: 'string', default: '20' },
    relayers: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '3' },
    stalls: { type: 'string', default: '3' },
    stops: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
  },
})
const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)])) as Record<
  keyof typeof values,
  number
>
const folder = mkdtempSync(join(tmpdir(), 'relayer-scale-'))
try {
  await startPostgres(folder)
  const client = new pg.Client({ connectionString: urlOf(folder, 'postgres') })
  await client.connect()
  await client.query('CREATE DATABASE scale')
  await client.end()
  const began = Date.now()
  const { accepted, lost, twice, held_twice, taken_over_ms, most_uneven, virtual_ms } = await runScale(
    urlOf(folder, 'scale'),
    numbers,
  )
  const say = (text: string) => process.stdout.write(`${text}\n`)
  say(`${numbers.relayers} relayers, ${numbers.servers} servers, ${virtual_ms / 1_000} s of virtual time`)
  say(`(${Math.round((Date.now() - began) / 1_000)} s of real time), seed ${numbers.seed}`)
  say(`accepted ${accepted}, lost ${lost}, done twice ${twice}, held by two servers ${held_twice}`)
  for (const [way, times] of Object.entries(taken_over_ms)) {
    if (times.length === 0) continue
    const sorted = times.toSorted((a, b) => a - b)
    const at = (part: number) => ((sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN) / 1_000).toFixed(1)
    say(
      `${way}: ${times.length} relayers taken over after ${at(0.5)} s (median), ${at(0.95)} s (p95), ${at(1)} s (most)`,
    )
  }
  say(`relayers of a server after failures: ${most_uneven.fewest} to ${most_uneven.most}`)
  process.exitCode = lost + twice + held_twice === 0 ? 0 : 1
} finally {
  await stopPostgres(folder)
  rmSync(folder, { recursive: true, force: true })
}
