import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'

/** The owner and mode of a file. */
type Ownership = Pick<Stats, 'uid' | 'mode'>

/** The reason why other users can change the folder's content; undefined when they cannot. `uid`: this process's user. */
export function folderFault({ uid: owner, mode }: Ownership, uid: number): string | undefined {
  // root can write everywhere anyway.
  if (owner !== uid && owner !== 0)
    return `belongs to user ${owner}; it must belong to user ${uid}, who runs the service`
  if ((mode & 0o022) !== 0) return `is writable by other users (mode ${octal(mode)}): run chmod go-w on it`
  return undefined
}

/**
 * The reason why other users can replace an entry of a folder on the way to a file. In a folder with the sticky bit, such as /tmp, only
 * the owner of an entry can.
 */
function wayFault(stats: Ownership, uid: number): string | undefined {
  const isSticky = stats.uid === 0 && (stats.mode & 0o1000) !== 0
  return isSticky ? undefined : folderFault(stats, uid)
}

/** The reason why other users can change a file that holds a setting, or read it where this user or root could forbid it. */
function settingFault({ uid: owner, mode }: Ownership, uid: number): string | undefined {
  // Containers mount secrets as files of root that all their users can read.
  const forbidden = owner === 0 && uid !== 0 ? 0o022 : 0o026
  if (owner !== uid && owner !== 0) return `belongs to user ${owner}; it must belong to user ${uid} or root`
  if ((mode & forbidden) !== 0)
    return `is readable or writable by other users (mode ${octal(mode)}): run chmod 600 on it`
  return undefined
}

/** The reason why other users can read or change the file; undefined when they cannot. */
export function fileFault({ uid: owner, mode }: Ownership, uid: number): string | undefined {
  if (owner !== uid) return `belongs to user ${owner}; it must belong to user ${uid}, who runs the service`
  if ((mode & 0o077) !== 0) return `is readable or writable by other users (mode ${octal(mode)}): run chmod 600 on it`
  return undefined
}

/**
 * The faults of existing files and of all folders on the way to them, through symbolic links, one sentence each. `settings`: the files
 * that the operator gives. `mend`: removes other users' permissions from files of this user.
 */
export function privacyFaults(files: string[], settings: string[], mend: boolean): string[] {
  const uid = process.getuid?.()
  // Windows has no modes.
  if (uid === undefined) return []
  const folders = [...new Set(files.map(dirname))]
  const way = new Set([...files, ...settings].flatMap((file) => wayTo(resolve(file))))
  for (const folder of folders) way.delete(real(folder))
  return [
    ...[...way].flatMap((folder) => told(`The folder ${folder}`, statsOf(folder), (stats) => wayFault(stats, uid))),
    ...settings.flatMap((file) => told(`The file ${file}`, statsOf(file), (stats) => settingFault(stats, uid))),
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

/** The folders whose entries lead to a path: those of its own names, and those of each symbolic link among them. */
function wayTo(path: string, links = 0): string[] {
  const way: string[] = []
  let at: string = sep
  for (const name of path.split(sep).filter(Boolean)) {
    way.push(at)
    const next = join(at, name)
    const isLink = lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink() && links < maxLinks
    if (isLink) way.push(...wayTo(resolve(at, readlinkSync(next)), links + 1))
    at = isLink ? real(next) : next
  }
  return way
}

const maxLinks = 20

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
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
