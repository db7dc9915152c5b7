import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { clockTickMs } from '../measure.ts'
import { nodeFlags } from '../node-flags.ts'
import { say } from '../report.ts'
import { until } from './until.ts'

export const apiKey = 'bench'.repeat(8)

export interface ServiceProcess {
  url: string
  pid: number
  /** From the start of the process to the first `ready`. */
  ready_ms: number
  /** User and system time so far. */
  cpu_ms(): number
  rss_peak_mb(): number
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

const project = join(import.meta.dirname, '..', '..', '..')

export interface ServiceOptions {
  node_args: string[]
  port?: string
  /** The folder of the service's code. Default: this project. */
  root?: string | undefined
  env?: Record<string, string>
}

export async function startProcess(
  dataDir: string,
  { node_args, port = '0', root = project, env = {} }: ServiceOptions,
): Promise<ServiceProcess> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [...node_args, ...nodeFlags, 'server/main.ts'], {
    cwd: root,
    env: {
      NODE_ENV: 'production',
      ALLOW_PRIVATE_TARGETS: 'true',
      DATA_DIR: dataDir,
      PORT: port,
      API_KEY: apiKey,
      MASTER_KEY: '11'.repeat(32),
      RATE_LIMIT_PER_SECOND: '1000000',
      RATE_LIMIT_BURST: '1000000',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const gone = once(child, 'exit').then(() => process.off('exit', kill))
  const url = await urlOf(child)
  await until(() => fetch(`${url}/api/v1/ready`).then(({ ok }) => ok), 5)
  const readyMs = performance.now() - startedAt
  const pid = child.pid as number
  return {
    url,
    pid,
    ready_ms: readyMs,
    cpu_ms: () => cpuOfMs(pid),
    rss_peak_mb: () => Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024,
    async stop(signal) {
      child.kill(signal)
      await gone
    },
  }
}

/** User and system time of a process. */
function cpuOfMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * clockTickMs
}

/** What all processes but this one and its children have taken of the machine so far. */
export function elsewhereMs(): number {
  const [, user, nice, system, , , irq, softirq] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').split(
    /\s+/,
  )
  const allMs = [user, nice, system, irq, softirq].reduce((sum, ticks) => sum + Number(ticks), 0) * clockTickMs
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ').map(Number)
  return [process.pid, ...children].reduce((left, pid) => left - cpuOfMs(pid), allMs)
}

function urlOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.once('exit', () => reject(new Error(`The service does not start:\n${said}`)))
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      said += text
      const url = /API\s+(http\S+)\/api\/v1/.exec(said)?.[1]
      if (!url) return
      resolve(url)
      child.stdout?.removeAllListeners('data').on('data', (line) => /"level":[56]0/.test(line) && say(line))
    })
  })
}
