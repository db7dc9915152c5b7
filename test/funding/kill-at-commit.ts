import { writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'

// Ends the process, as kill -9 does: before its commit number KILL_AT / 2 when KILL_AT is even, or after that of (KILL_AT - 1) / 2 when it is odd.
// STEPS_FILE: where the number of steps so far is written.
const at = Number(process.env.KILL_AT ?? Number.POSITIVE_INFINITY)
const { STEPS_FILE } = process.env
let steps = 0

function step(): void {
  if (steps === at) process.kill(process.pid, 'SIGKILL')
  steps += 1
  if (STEPS_FILE) writeFileSync(STEPS_FILE, `${steps}`)
}

const memory = new Database(':memory:')
const statement = Object.getPrototypeOf(memory.prepare('CREATE TABLE t (a)'))
memory.close()
const original = statement.run
statement.run = function counting(this: Database.Statement, ...parameters: unknown[]) {
  if (this.source !== 'COMMIT') return original.apply(this, parameters)
  step()
  const result = original.apply(this, parameters)
  step()
  return result
}
