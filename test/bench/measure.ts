import { readdirSync, readFileSync } from 'node:fs'

/** Figures by name; the unit stands last in the name. */
export type Figures = Record<string, number>

/** Of /proc's times. */
export const clockTickMs = 10

/** User and system time of a process and of its children so far, all threads. Linux only. */
export function cpuOfMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const ownMs = (Number(fields[11]) + Number(fields[12])) * clockTickMs
  return childrenOf(pid).reduce((sum, child) => sum + cpuOfMs(child), ownMs)
}

/** The resident memory of a process and its children. */
export function rssOfMb(pid: number): number {
  const ownMb = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_000
  return childrenOf(pid).reduce((sum, child) => sum + rssOfMb(child), ownMb)
}

const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )

/** User, system and interrupt time of the whole machine so far, of all its cores. */
export function busyMs(): number {
  const [, user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'utf8').split(/\s+/, 8).map(Number)
  return [user, nice, system, irq, softirq].reduce((sum: number, ticks = 0) => sum + ticks, 0) * clockTickMs
}

/** `at`: 0 to 100. */
export function percentile(values: ArrayLike<number>, at: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * at) / 100))] ?? Number.NaN
}

export const median = (values: number[]): number => percentile(values, 50)

export const medianOf = (rounds: Figures[] | undefined, figure: string): number =>
  median((rounds ?? []).map((round) => round[figure] ?? Number.NaN))
