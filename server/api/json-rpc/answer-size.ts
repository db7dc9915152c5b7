import type { JsonRpcAnswer } from '../../../generated/openapi.ts'
import { DomainError } from '../../domain/errors.ts'
import { detailsOf } from '../http/errors.ts'
import { codes } from './errors.ts'

/** The limits of a single node's answer. A larger response would block the process while it is checked and written. */
const maxSize = { characters: 4 * 1024 * 1024, values: 100_000 }
/** A smaller answer is always returned: a hash must not be lost because other answers of its batch are large. */
const small = 1_000
/** Of a value, with its name. */
const valueBytes = 8

/**
 * Replaces large answers of a request by errors when all of them together become too large, or when the caller's other responses hold its
 * share. `holdAnswer`: of the request.
 */
export class AnswerSize {
  readonly #holdAnswer: (bytes: number) => void
  readonly #sum = { characters: 0, values: 0 }

  constructor(holdAnswer: (bytes: number) => void) {
    this.#holdAnswer = holdAnswer
  }

  /** The answer, or an error in its place. */
  limit(answer: JsonRpcAnswer): JsonRpcAnswer {
    const { jsonrpc, id, result } = answer
    const size = sizeOf(result)
    if (size.characters + size.values <= small) return answer
    const reason = this.#refusalOf(size)
    if (reason === undefined) return answer
    return { jsonrpc, id, error: { code: codes.limit_exceeded, message: `limit exceeded: ${reason}` } }
  }

  /** Why the answer is too large; undefined: it is counted. */
  #refusalOf({ characters, values }: typeof maxSize): string | undefined {
    const next = { characters: this.#sum.characters + characters, values: this.#sum.values + values }
    if (next.characters > maxSize.characters || next.values > maxSize.values)
      return 'the answers of this batch are larger than 4 MiB or have more than 100,000 values'
    try {
      this.#holdAnswer(next.characters + next.values * valueBytes)
    } catch (error) {
      if (!(error instanceof DomainError)) throw error
      return detailsOf(error)
        .map(({ message }) => message)
        .join('; ')
    }
    Object.assign(this.#sum, next)
    return undefined
  }
}

function sizeOf(value: unknown): typeof maxSize {
  const size = { characters: typeof value === 'string' ? value.length : 0, values: 1 }
  if (typeof value !== 'object' || value === null) return size
  for (const child of Object.values(value)) {
    const { characters, values } = sizeOf(child)
    size.characters += characters
    size.values += values
  }
  return size
}
