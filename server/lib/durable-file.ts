import { randomBytes } from 'node:crypto'
import { closeSync, constants, fchmodSync, fsyncSync, linkSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** A file that is being written: its temporary name and its handle. */
interface Draft {
  path: string
  handle: number
}

const exclusively = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/**
 * Creates a file of mode 0600, with any umask. The file appears complete and durable or not at all, and never replaces
 * another file. `fill` writes the draft, which has an unpredictable name. Throws EEXIST when the name is taken.
 */
export function createFile(file: string, fill: (draft: Draft) => void): void {
  const path = `${file}.${randomBytes(8).toString('hex')}`
  const handle = openSync(path, exclusively, 0o600)
  try {
    fchmodSync(handle, 0o600)
    fill({ path, handle })
    fsyncSync(handle)
    linkSync(path, file)
  } finally {
    closeSync(handle)
    unlinkSync(path)
  }
  // A new name is durable after an fsync of its folder.
  sync(dirname(file))
}

/** A `fill` for `createFile` that writes one line. */
export const lineOf = (text: string) => (draft: Draft) => {
  writeSync(draft.handle, `${text}\n`)
}

/** Flushes a file or a folder to the disk. */
export function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
