import { linesOf } from './form.ts'

/** Numbers stay texts, so that none loses digits. */
export const argumentsOf = (text: string): unknown[] =>
  linesOf(text).map((line) => (/^(?:\[|\{|true$|false$)/.test(line) ? fromJson(line) : line))

/** What is no JSON is left to the service, which says what it expects. */
function fromJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return line
  }
}
