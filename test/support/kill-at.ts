import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import Database from 'better-sqlite3'

// Ends the process, as kill -9 does, just before its KILL_AT-th change of a file or of a row. With STEPS_FILE, writes their number instead.
const at = Number(process.env.KILL_AT)
const { STEPS_FILE } = process.env
const { writeFileSync } = fs
if (STEPS_FILE) process.once('exit', () => writeFileSync(STEPS_FILE, `${steps}`))
let steps = 0

// biome-ignore lint/suspicious/noExplicitAny: whatever it is called with is passed on.
type Anything = (this: unknown, ...parameters: any[]) => unknown

function counted(target: object, name: string): void {
  const original = Reflect.get(target, name) as Anything
  Reflect.set(target, name, function counting(this: unknown, ...parameters: unknown[]) {
    steps += 1
    if (steps === at) process.kill(process.pid, 'SIGKILL')
    return original.apply(this, parameters)
  })
}

for (const name of ['linkSync', 'renameSync', 'unlinkSync', 'fsyncSync', 'writeSync', 'rmSync']) counted(fs, name)
syncBuiltinESMExports()
const memory = new Database(':memory:')
counted(Object.getPrototypeOf(memory.prepare('CREATE TABLE t (a)')), 'run')
memory.close()
// The service reads a pragma after a commit, before it changes the file again.
counted(Database.prototype, 'pragma')
