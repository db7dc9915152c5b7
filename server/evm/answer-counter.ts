import type { AnswerLimits } from './answer-limits.ts'

/** A node's answer exceeds the limits. The message completes "The answer ...". */
export class AnswerTooLarge extends Error {}

/** Functions that walk an answer recurse. */
const max_depth = 100
const [quote, backslash, comma, openArray, openObject, closeArray, closeObject] = Array.from('"\\,[{]}', (character) =>
  character.charCodeAt(0),
)

/**
 * Counts bytes, values and depth of a JSON text as it arrives, by the characters that begin and separate values: 2 ms per MiB. Throws
 * AnswerTooLarge. UTF-8 uses these characters for nothing else.
 */
export function createAnswerCounter({ max_bytes, max_values }: AnswerLimits): (chunk: Uint8Array) => void {
  let bytes = 0
  let values = 1
  let depth = 0
  let isText = false
  let isEscaped = false

  return (chunk) => {
    bytes += chunk.length
    if (bytes > max_bytes) throw new AnswerTooLarge(`is larger than ${inUnits(max_bytes)}`)
    for (const character of chunk) {
      if (isEscaped) isEscaped = false
      else if (isText) {
        if (character === quote) isText = false
        else if (character === backslash) isEscaped = true
      } else if (character === quote) isText = true
      else if (character === comma) values += 1
      else if (character === openArray || character === openObject) {
        values += 1
        depth += 1
        if (depth > max_depth) throw new AnswerTooLarge(`is nested more than ${max_depth} levels deep`)
      } else if (character === closeArray || character === closeObject) depth -= 1
    }
    if (values > max_values) throw new AnswerTooLarge(`has more than ${max_values} values`)
  }
}

const inUnits = (bytes: number): string => (bytes >= 1024 * 1024 ? `${bytes / 1024 / 1024} MiB` : `${bytes / 1024} KiB`)
