/** Control characters (C0, C1) other than the line feed, format characters such as those for the direction of text, and half pairs. */
const unprintable = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * The only writer of this command line. A terminal obeys control sequences, and texts come from nodes, key services and receivers of
 * webhooks: they must not change its title, its colors or what it shows.
 */
export const write = (stream: NodeJS.WriteStream, text: string): void =>
  void stream.write(text.replace(unprintable, '�'))

/** JSON for a terminal: the same characters, escaped, so that a program reads the same value. */
export const writeJson = (stream: NodeJS.WriteStream, text: string): void =>
  void stream.write(`${text.replace(unprintable, escaped)}\n`)

/** A text from outside, as part of a line: it must not begin a line of its own. */
export const inLine = (text: string): string => text.replaceAll('\n', ' ')

const escaped = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
