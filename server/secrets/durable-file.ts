import { randomBytes } from 'node:crypto'
import { closeSync, constants, fchmodSync, fsyncSync, linkSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** A file that is being written: its name of the moment, and its handle. */
export interface Draft {
  path: string
  handle: number
}

const exclusively = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/**
 * Makes a file of mode 0600, whatever the umask is, that appears whole and durable or not at all, and never in the place of another
 * one. `fill` writes the draft, whose name nobody can know in advance. Throws EEXIST when the name is taken.
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
  // A new name is durable when its folder is.
  sync(dirname(file))
}

/** For `createFile`: one line. */
export const lineOf = (text: string) => (draft: Draft) => {
  writeSync(draft.handle, `${text}\n`)
}

/** Whatever stands under the name, of a file or of a folder, is on the disk. */
export function sync(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
