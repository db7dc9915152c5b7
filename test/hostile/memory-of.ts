import { readFileSync } from 'node:fs'

/** The processes that a process started. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

/** The memory of a process and of those that it started, in MB: now (VmRSS), or the most that they ever had (VmHWM). */
export function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const own =
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
  return childrenOf(pid).reduce((sum, child) => sum + memoryOf(child, field), own)
}
