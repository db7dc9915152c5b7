import { chmodSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inFolder, startServer, withServers } from '../bench/processes.ts'
import type { Reached } from './scene.ts'

/** Point 9: a first start in a folder that others may write, with a planted draft of the key file, under a lax umask. */
export const startInLaxFolder = (): Promise<Reached> =>
  inFolder((folder) => {
    chmodSync(folder, 0o777)
    const draft = join(folder, `master-key.${process.pid}`)
    writeFileSync(draft, '')
    chmodSync(draft, 0o666)
    const start = async () => {
      const umask = process.umask(0)
      try {
        return await startServer('server/main.ts', { env: { NODE_ENV: 'development', DATA_DIR: folder, PORT: '0' } })
      } finally {
        process.umask(umask)
      }
    }
    return withServers([start], async () => {
      const mode = (statSync(join(folder, 'master-key')).mode & 0o777).toString(8).padStart(4, '0')
      return { found: `master-key with mode ${mode}`, holds: mode === '0600' }
    })
  })
