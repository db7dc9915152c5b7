import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { stopPostgres } from './postgres-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the PostgreSQL server of this run. */
    postgres_folder: string
  }
}

/** Stops the PostgreSQL server of this run, if a test has started it (postgres.ts). */
export default function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-postgres-'))
  project.provide('postgres_folder', folder)
  return async () => {
    if (existsSync(join(folder, 'data', 'postmaster.pid'))) await stopPostgres(folder, 'immediate')
    rmSync(folder, { recursive: true, force: true })
  }
}
