/** Control characters (C0 and C1), format characters such as those for the direction of text, half pairs and line separators. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const lineBreaks = /[\r\n\u2028\u2029]+/g

/**
 * A text from outside (a node, a key service, a receiver of webhooks) in one line, without the characters that a terminal or a log
 * reader obeys. Lines are joined by "; ". Called where the text enters.
 */
export const printable = (text: string): string => text.trimEnd().replace(lineBreaks, '; ').replace(unprintable, ' ')

/** All texts of a JSON value. The caller limits its size. */
export function printableTexts<T>(value: T): T {
  if (typeof value === 'string') return printable(value) as T
  if (Array.isArray(value)) return value.map(printableTexts) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, its]) => [printable(key), printableTexts(its)])) as T
}

/** A line of JSON with these characters escaped; JSON itself escapes C0 only. */
export const escapedLine = (line: string): string =>
  line.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
