import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'

// A small process that starts the chains of another one (anvil.ts), and kills them when that one has ended in any way: by SIGTERM, for which
// no 'exit' listener runs, or by SIGKILL. A process with hundreds of megabytes takes 50 to 100 ms of CPU time to start another one, because
// each of its pages is copied or marked; this one takes 3.

/** A chain to start, or to end by a signal. `number`: the same in each report about it. */
export type Order = { number: number } & ({ binary: string; args: string[] } | { signal: NodeJS.Signals })

export type Report = { number: number } & ({ port: number } | { failure: string } | { ended: true })

const startDeadlineMs = 60_000
const running = new Map<number, ChildProcess>()
const tell = (report: Report) => void process.send?.(report)

process.on('message', (order: Order) => {
  if ('signal' in order) running.get(order.number)?.kill(order.signal)
  else void start(order.number, order.binary, order.args)
})

async function start(number: number, binary: string, args: string[]): Promise<void> {
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  running.set(number, child)
  child.once('error', (error) => tell({ number, failure: error.message }))
  // After all that it wrote, which may say why it does not start.
  child.once('close', () => {
    running.delete(number)
    tell({ number, ended: true })
  })
  try {
    const port = await listeningPort(child.stdout, child.stderr)
    // Nobody reads on.
    child.stdout.destroy()
    child.stderr.destroy()
    tell({ number, port })
  } catch (error) {
    child.kill('SIGKILL')
    tell({ number, failure: (error as Error).message })
  }
}

process.on('disconnect', () => {
  for (const child of running.values()) child.kill('SIGKILL')
  process.exit()
})

/** The port that anvil prints. Anvil chooses it, so that no other process can take it before the start. */
function listeningPort(stdout: Readable, stderr: Readable): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = ''
    let complained = ''
    const fail = (reason: string) => {
      clearTimeout(timer)
      reject(new Error(reason))
    }
    const timer = setTimeout(() => fail(`it said nothing for ${startDeadlineMs} ms`), startDeadlineMs)
    stdout.setEncoding('utf8').on('data', (text) => {
      said += text
      const port = /^Listening on \S+:(\d+)\r?\n/m.exec(said)?.[1]
      if (port === undefined) return
      clearTimeout(timer)
      resolve(Number(port))
    })
    stderr.setEncoding('utf8').on('data', (text) => {
      complained += text
    })
    stderr.once('end', () => fail(complained.trim().replace(/^Error: /, '') || 'it ended without a word'))
  })
}
