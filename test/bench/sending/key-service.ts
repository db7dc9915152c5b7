import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** A key service in a process of its own, whose every call takes so long. */
export async function startKeyService(delayMs: number): Promise<{ url: string; stop(): Promise<void> }> {
  const file = join(import.meta.dirname, '..', 'servers', 'kms.ts')
  const child = spawn(process.execPath, [file, `${delayMs}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = once(child, 'exit').then(() => process.off('exit', kill))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    url: line.toString().trim(),
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
