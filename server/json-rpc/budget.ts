import type { JsonRpcAnswer } from '../../generated/openapi.ts'
import { codes } from './errors.ts'

/** The limits of a single node's answer. A larger response would block the process while it is checked and written. */
const max_size = { characters: 4 * 1024 * 1024, values: 100_000 }
/** A smaller answer is always returned: a hash must not be lost because other answers of its batch are large. */
const small = 1_000

/** Replaces large answers in a batch by errors when all of them together become too large. */
export function createBudget(): (answer: JsonRpcAnswer) => JsonRpcAnswer {
  const left = { ...max_size }

  return (answer) => {
    const { jsonrpc, id, result } = answer
    const { characters, values } = sizeOf(result)
    if (characters + values <= small) return answer
    left.characters -= characters
    left.values -= values
    if (left.characters >= 0 && left.values >= 0) return answer
    const message = 'limit exceeded: the answers of this batch are larger than 4 MiB or have more than 100,000 values'
    return { jsonrpc, id, error: { code: codes.limit_exceeded, message } }
  }
}

function sizeOf(value: unknown): typeof max_size {
  const size = { characters: typeof value === 'string' ? value.length : 0, values: 1 }
  if (typeof value !== 'object' || value === null) return size
  for (const child of Object.values(value)) {
    const { characters, values } = sizeOf(child)
    size.characters += characters
    size.values += values
  }
  return size
}
