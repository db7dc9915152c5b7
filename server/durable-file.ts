import { closeSync, fsyncSync, linkSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a file, its owner's alone, that appears whole and durable or not at all, and never in the place of another one. `fill`
 * writes the draft. Throws EEXIST when the name is taken.
 */
export function createFile(file: string, fill: (draft: string) => void): void {
  const draft = `${file}.${process.pid}`
  closeSync(openSync(draft, 'w', 0o600))
  try {
    fill(draft)
    sync(draft)
    linkSync(draft, file)
  } finally {
    unlinkSync(draft)
  }
  // A new name is durable when its folder is.
  sync(dirname(file))
}

/** For `createFile`: one line. */
export const lineOf = (text: string) => (draft: string) => {
  const handle = openSync(draft, 'w')
  try {
    writeSync(handle, `${text}\n`)
  } finally {
    closeSync(handle)
  }
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
