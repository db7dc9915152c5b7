import { AnswerTooLarge, type Post } from './post.ts'

/** The most bytes of a node's answer to a caller's own call. Such an answer is parsed, checked and written as a whole. */
export const max_caller_answer_bytes = 4 * 1024 * 1024
/** 100,000 values take up to 50 ms to parse and to write again; logs fill 4 MiB with fewer. */
const max_values = 100_000
const [quote, backslash, comma, bracket, brace] = Array.from('"\\,[{', (character) => character.charCodeAt(0))

/** Refuses answers that would block the process while they are parsed. Throws AnswerTooLarge. */
export function boundAnswers(post: Post): Post {
  return async (body, timeout_ms) => {
    const answer = await post(body, timeout_ms)
    if (answer.text.length > max_values * 2 && isCrowded(answer.text)) {
      throw new AnswerTooLarge(`has more than ${max_values} values`)
    }
    return answer
  }
}

/** Counts the values before the text is parsed, by the characters that separate and begin them: 2 ms per MiB. */
function isCrowded(text: string): boolean {
  let isText = false
  let values = 1
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at)
    if (character === quote) isText = !isText
    else if (isText && character === backslash) at += 1
    else if (!isText && (character === comma || character === bracket || character === brace)) values += 1
  }
  return values > max_values
}
