import { checkFault, type SeededFault } from '../crash/seeded-faults.ts'
import type { ColumnName } from './judge.ts'
import { scoreboard, wrongIn } from './scoreboard.ts'
import { type FaultName, isFaultName, seededFaults } from './seeded-faults.ts'
import { runTrial, type TrialOptions } from './trial.ts'

// `npm run test:webhooks`: WEBHOOK_EVENTS (10000) events to receivers that fail three times in ten, and WEBHOOK_KILLS (100)
// kills at moments drawn from WEBHOOK_SEED (a new one each time). WEBHOOK_FAULT, the name of a seeded fault or `all`: that the
// harness sees it, with fewer events.

const { WEBHOOK_EVENTS, WEBHOOK_KILLS, WEBHOOK_SEED, WEBHOOK_FAULT = '' } = process.env
const seed = read('WEBHOOK_SEED', WEBHOOK_SEED, Date.now() % 1_000_000)

try {
  const isWell = WEBHOOK_FAULT === '' ? await holds() : await seesAll(faultsCalled(WEBHOOK_FAULT))
  process.exitCode = isWell ? 0 : 1
} catch (error) {
  process.stderr.write(`${(error as Error).stack}\n`)
  process.exitCode = 1
}

async function holds(): Promise<boolean> {
  const long = { max_faults: 5, hangs: true, switches: 48, patience_ms: 60_000 }
  const result = await runTrial({ ...optionsOf(10_000, 100), ...long })
  const wrong = wrongIn(result.verdict)
  process.stdout.write(scoreboard(result))
  process.stdout.write(wrong.length === 0 ? 'Passed.\n' : `Failed: ${wrong.join(', ')}.\n`)
  return wrong.length === 0
}

async function seesAll(names: FaultName[]): Promise<boolean> {
  const unseen: FaultName[] = []
  for (const name of names) checkFault(seededFaults[name])
  for (const fault of names) {
    const { caught_by }: SeededFault<ColumnName> = seededFaults[fault]
    const short = { max_faults: 3, hangs: false, switches: 16, patience_ms: 10_000 }
    const result = await runTrial({ ...optionsOf(400, 8), ...short, fault })
    const caught = wrongIn(result.verdict).filter((column) => caught_by.includes(column))
    if (caught.length === 0) unseen.push(fault)
    process.stdout.write(scoreboard(result))
    process.stdout.write(
      caught.length === 0 ? `Not caught: ${fault}.\n\n` : `Caught: ${fault}, by ${caught.join(', ')}.\n\n`,
    )
  }
  process.stdout.write(`${names.length - unseen.length} of ${names.length} faults were caught.\n`)
  return unseen.length === 0
}

function optionsOf(events: number, kills: number): Pick<TrialOptions, 'events' | 'kills' | 'seed' | 'killed'> {
  return {
    events: read('WEBHOOK_EVENTS', WEBHOOK_EVENTS, events),
    kills: read('WEBHOOK_KILLS', WEBHOOK_KILLS, kills),
    seed,
    killed: (count) => {
      // A run takes minutes: shows its progress.
      if (process.stderr.isTTY) process.stderr.write(`\r${count} kills \r`)
    },
  }
}

function faultsCalled(name: string): FaultName[] {
  const names = Object.keys(seededFaults).filter(isFaultName)
  if (name === 'all') return names
  if (!isFaultName(name)) throw new Error(`WEBHOOK_FAULT must be all, or one of ${names.join(', ')}`)
  return [name]
}

function read(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined || text === '') return otherwise
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new Error(`${name} must be a whole number from 1 up`)
  return Number(text)
}
