import { isStageName, type StageName, stages } from '../key-services/stages.ts'
import { type CrashOptions, runCrash } from './crash.ts'
import { scoreboard, wrongIn } from './scoreboard.ts'
import { checkFault, type FaultName, isFaultName, type SeededFault, seededFaults } from './seeded-faults.ts'

// `npm run test:crash`: CRASH_KILLS (200) kills over CRASH_SUBMISSIONS (2000) submissions at moments drawn from CRASH_SEED (a
// new one each time). CRASH_SIGNER, a key service of test/key-services/stages.ts: the key is there, and no signature is given twice
// (`npm run test:keys -- --part=kills` does so with servers of other makers). CRASH_FAULT, the name of a seeded fault or `all`: that
// the harness sees it, with fewer kills.

const { CRASH_KILLS, CRASH_SUBMISSIONS, CRASH_SEED, CRASH_FAULT = '', CRASH_SIGNER = 'local' } = process.env
const seed = read('CRASH_SEED', CRASH_SEED, Date.now() % 1_000_000)

try {
  const isWell = CRASH_FAULT === '' ? await holds() : await seesAll(faultsCalled(CRASH_FAULT))
  process.exitCode = isWell ? 0 : 1
} catch (error) {
  process.stderr.write(`${(error as Error).stack}\n`)
  process.exitCode = 1
}

async function holds(): Promise<boolean> {
  const result = await runCrash(optionsOf(200, 2_000, 120_000))
  const wrong = wrongIn(result.verdict)
  say(scoreboard(result))
  say(wrong.length === 0 ? 'Passed.\n' : `Failed: ${wrong.join(', ')}.\n`)
  return wrong.length === 0
}

async function seesAll(names: FaultName[]): Promise<boolean> {
  const unseen: FaultName[] = []
  for (const name of names) checkFault(seededFaults[name])
  for (const name of names) {
    const { caught_by }: SeededFault = seededFaults[name]
    const result = await runCrash({ ...optionsOf(30, 300, 20_000), fault: name })
    const caught = wrongIn(result.verdict).filter((column) => caught_by.includes(column))
    if (caught.length === 0) unseen.push(name)
    say(scoreboard(result))
    say(caught.length === 0 ? `Not caught: ${name}.\n\n` : `Caught: ${name}, by ${caught.join(', ')}.\n\n`)
  }
  say(`${names.length - unseen.length} of ${names.length} faults were caught.\n`)
  return unseen.length === 0
}

function optionsOf(kills: number, submissions: number, patienceMs: number): CrashOptions {
  return {
    kills: read('CRASH_KILLS', CRASH_KILLS, kills),
    submissions: read('CRASH_SUBMISSIONS', CRASH_SUBMISSIONS, submissions),
    seed,
    patience_ms: patienceMs,
    signer: signerCalled(CRASH_SIGNER),
    killed: (count) => {
      // A run takes minutes: shows its progress.
      if (process.stderr.isTTY) process.stderr.write(`\r${count} kills \r`)
    },
  }
}

function faultsCalled(name: string): FaultName[] {
  const names = Object.keys(seededFaults).filter(isFaultName)
  if (name === 'all') return names
  if (!isFaultName(name)) throw new Error(`CRASH_FAULT must be all, or one of ${names.join(', ')}`)
  return [name]
}

function signerCalled(name: string): 'local' | StageName {
  if (name === 'local' || isStageName(name)) return name
  throw new Error(`CRASH_SIGNER must be local, or one of ${Object.keys(stages).join(', ')}`)
}

function read(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined || text === '') return otherwise
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new Error(`${name} must be a whole number from 1 up`)
  return Number(text)
}

function say(text: string): void {
  process.stdout.write(text)
}
