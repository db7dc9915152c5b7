import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'

const idBytes = 16
/** Drawn for many ids at once: one call costs as much as the rest of an id. */
const drawn = Buffer.alloc(256 * idBytes)
let used = drawn.length

/** A UUID of version 7 (RFC 9562, 5.7): ids that are made later sort later, to the millisecond. */
export function makeId(): string {
  if (used === drawn.length) {
    randomFillSync(drawn)
    used = 0
  }
  used += idBytes
  return v7({ random: drawn.subarray(used - idBytes, used) })
}
