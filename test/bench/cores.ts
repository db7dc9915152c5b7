import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** Servers have one core, what puts load on them the other (processes.ts). */
export const isPinned = availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0
