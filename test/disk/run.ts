import { rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { type DiskFault, exitIo, hasStrace, prepareDisk, type Trial, tryDisk } from './disk.ts'

// `npm run test:disk`: a full disk at DISK_POSITIONS (100) positions of a run, and an error of fsync at as many, at most each once.

const positions = Number(process.env.DISK_POSITIONS ?? 100)

if (!hasStrace) {
  process.stderr.write('It needs strace, which makes system calls fail.\n')
  process.exit(2)
}

const faults = ['full', 'sync'] as const
/** A trial waits for the disk and for its process more than it computes. */
const atOnce = 2 * availableParallelism()

const { folder, calls } = await prepareDisk()
const trials: Trial[] = []
const left = faults.flatMap((fault) => spread(fault).map((position) => ({ fault, position })))
const all = left.length
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      trials.push(await attempt(next.fault, next.position))
      if (trials.length % 20 === 0) process.stderr.write(`${trials.length} of ${all} trials\n`)
    }
  }),
)
rmSync(folder, { recursive: true })

const of = (fault: DiskFault) => trials.filter((trial) => trial.fault === fault)
const sum = (some: Trial[], name: 'acknowledged' | 'refused' | 'unknown') =>
  some.reduce((total, trial) => total + trial[name], 0)
for (const fault of faults) {
  const some = of(fault)
  process.stdout.write(
    `${fault}: ${some.length} positions of ${calls[fault]}, ${sum(some, 'acknowledged')} acknowledged, ` +
      `${sum(some, 'refused')} refused, ${sum(some, 'unknown')} unknown, ${some.filter(({ exit }) => exit === exitIo).length} ended with ${exitIo}\n`,
  )
}
const wrong = trials.flatMap((trial) => trial.wrong.map((what) => `${trial.fault} at ${trial.position}: ${what}`))
process.stdout.write(wrong.length === 0 ? 'Passed: wrong 0.\n' : `Failed:\n${wrong.join('\n')}\n`)
process.exitCode = wrong.length === 0 ? 0 : 1

function spread(fault: DiskFault): number[] {
  const count = Math.min(positions, calls[fault])
  return Array.from({ length: count }, (_, index) => 1 + Math.floor((index * calls[fault]) / count))
}

async function attempt(fault: DiskFault, position: number): Promise<Trial> {
  const trial = await tryDisk(folder, fault, position)
  if (fault === 'sync' && trial.started && trial.exit !== exitIo) trial.wrong.push(`it ended with ${trial.exit}`)
  return trial
}
