import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const memory = '/dev/shm'
/** More than the databases of a run. The default of a container is 64 MB. */
const enoughBytes = 2 ** 31

/** Where tests keep databases: in memory where there is room. On a disk, a third of a test's time is waiting for commits. */
export const dataRoot = hasRoom() ? memory : tmpdir()

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize >= enoughBytes
  } catch {
    return false
  }
}
