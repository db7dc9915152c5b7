import { writeFileSync } from 'node:fs'
import pg from 'pg'

// Ends the process, as kill -9 does, after it has sent its KILL_AT-th message to PostgreSQL. STEPS: a file for the number of messages.
const at = Number(process.env.KILL_AT ?? Number.POSITIVE_INFINITY)
const stepsFile = process.env.STEPS
let steps = 0

const original: (...parameters: never[]) => unknown = pg.Client.prototype.query
Reflect.set(pg.Client.prototype, 'query', function counting(this: pg.Client, ...parameters: never[]) {
  steps += 1
  if (steps === at) setImmediate(() => process.kill(process.pid, 'SIGKILL'))
  return original.apply(this, parameters)
})
process.on('exit', () => {
  if (stepsFile) writeFileSync(stepsFile, `${steps}`)
})
