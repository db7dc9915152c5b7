import { chmodSync, closeSync, constants, openSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** What matters of a file's owner and mode. */
export type Ownership = Pick<Stats, 'uid' | 'mode'>

/** Why others than this user can change what the folder holds; undefined when they cannot. `uid`: this process's user. */
export function folderFault({ uid: owner, mode }: Ownership, uid: number): string | undefined {
  // root can write everywhere anyway.
  if (owner !== uid && owner !== 0) return `belongs to the user ${owner}, and not to ${uid}, who runs the service`
  if ((mode & 0o022) !== 0) return `may be written by other users (mode ${octal(mode)}): run chmod go-w on it`
  return undefined
}

/** Why others than this user can read or change the file; undefined when they cannot. */
export function fileFault({ uid: owner, mode }: Ownership, uid: number): string | undefined {
  if (owner !== uid) return `belongs to the user ${owner}, and not to ${uid}, who runs the service`
  if ((mode & 0o077) !== 0) return `may be read or written by other users (mode ${octal(mode)}): run chmod 600 on it`
  return undefined
}

/**
 * Every fault of the files and of the folders that hold them, a sentence each; files that do not exist have none. `mend`: takes the
 * rights of others from files that belong to this user.
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
      return faults.map((fault) => `${fault}. Its mode is 600 now; its content may be known or changed already`)
    }),
  ]
}

/** An empty file of mode 0600, whatever the umask is, if there is none. SQLite gives its mode to the files beside it. */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600))
  } catch (error) {
    // Without the folder the database is not opened either, and that error is the better one.
    if (!['EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

const octal = (mode: number) => (mode & 0o7777).toString(8)

const statsOf = (path: string) => statSync(path, { throwIfNoEntry: false })

function told(name: string, stats: Stats | undefined, faultOf: (stats: Stats) => string | undefined): string[] {
  const fault = stats && faultOf(stats)
  return fault === undefined ? [] : [`${name} ${fault}`]
}
