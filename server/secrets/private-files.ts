import { chmodSync, closeSync, constants, openSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** The owner and mode of a file. */
export type Ownership = Pick<Stats, 'uid' | 'mode'>

/** The reason why other users can change the folder's content; undefined when they cannot. `uid`: this process's user. */
export function folderFault({ uid: owner, mode }: Ownership, uid: number): string | undefined {
  // root can write everywhere anyway.
  if (owner !== uid && owner !== 0)
    return `belongs to user ${owner}; it must belong to user ${uid}, who runs the service`
  if ((mode & 0o022) !== 0) return `is writable by other users (mode ${octal(mode)}): run chmod go-w on it`
  return undefined
}

/** The reason why other users can read or change the file; undefined when they cannot. */
export function fileFault({ uid: owner, mode }: Ownership, uid: number): string | undefined {
  if (owner !== uid) return `belongs to user ${owner}; it must belong to user ${uid}, who runs the service`
  if ((mode & 0o077) !== 0) return `is readable or writable by other users (mode ${octal(mode)}): run chmod 600 on it`
  return undefined
}

/**
 * The faults of existing files and of their folders, one sentence each. `mend`: removes other users' permissions from files of this
 * user.
 */
export function privacyFaults(files: string[], mend: boolean): string[] {
  const uid = process.getuid?.()
  // Windows has no modes.
  if (uid === undefined) return []
  const folders = [...new Set(files.map(dirname))]
  return [
    ...folders.flatMap((folder) => told(`The folder ${folder}`, statsOf(folder), (stats) => folderFault(stats, uid))),
    ...files.flatMap((file) => {
      const stats = statsOf(file)
      const faults = told(`The file ${file}`, stats, (its) => fileFault(its, uid))
      if (!mend || stats?.uid !== uid || faults.length === 0) return faults
      chmodSync(file, 0o600)
      return faults.map((fault) => `${fault}. Its mode is now 600, but other users may have read or changed it`)
    }),
  ]
}

/**
 * Creates an empty file of mode 0600, with any umask, if absent. SQLite creates its -wal and -shm files with the same mode.
 */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600))
  } catch (error) {
    // Without the folder, opening the database fails too, with a better error.
    if (!['EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

const octal = (mode: number) => (mode & 0o7777).toString(8)

const statsOf = (path: string) => statSync(path, { throwIfNoEntry: false })

function told(name: string, stats: Stats | undefined, faultOf: (stats: Stats) => string | undefined): string[] {
  const fault = stats && faultOf(stats)
  return fault === undefined ? [] : [`${name} ${fault}`]
}
