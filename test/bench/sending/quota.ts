import { spawnSync } from 'node:child_process'
import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'

const periodUs = 100_000
const folderOf = (pid: number) => `/sys/fs/cgroup/cpu/relayer-bench-${pid}`

/** Holds a process to a part of a core: by the CPU controller of cgroups (version 1), as root. */
export function holdTo(pid: number, cores: number): void {
  const folder = folderOf(pid)
  mkdirSync(folder)
  writeFileSync(`${folder}/cpu.cfs_period_us`, String(periodUs))
  writeFileSync(`${folder}/cpu.cfs_quota_us`, String(Math.round(cores * periodUs)))
  writeFileSync(`${folder}/cgroup.procs`, String(pid))
}

/** After its end. */
export const release = (pid: number): void => rmdirSync(folderOf(pid))

/** Holds a process, and those that it starts from now on, to one core. */
export function pinTo(pid: number, core: number): void {
  const { status, stderr } = spawnSync('taskset', ['-a', '-p', '-c', String(core), String(pid)], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`taskset fails: ${stderr}`)
}
