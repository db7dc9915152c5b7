/**
 * The lines of each paragraph in one. The reference's search shows paragraphs without their line breaks, so words at the ends of lines
 * would run together. Code blocks, lists, headings and tables keep their lines; the following lines of a list's item join it.
 */
export function joinLines(markdown: string): string {
  const lines: string[] = []
  let isCode = false
  for (const line of markdown.split('\n')) {
    const text = line.trim()
    const isFence = text.startsWith('```')
    const last = lines.at(-1)
    if (isCode || isFence || text === '' || ownLine.test(text) || !last || isClosed(last)) lines.push(line)
    else lines[lines.length - 1] = `${last} ${text}`
    if (isFence) isCode = !isCode
  }
  return lines.join('\n')
}

/** Headings, list items and rows of tables. */
const ownLine = /^(?:#|[-*] |\d+\. |\|)/
const isClosed = (line: string): boolean => /^(?:#|```|\|)/.test(line.trim())
