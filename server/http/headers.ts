import type { IncomingMessage } from 'node:http'

/** Whether a header is given more than once. Node silently keeps the first Authorization and Host. `name`: in lower case. */
export function isDoubled({ rawHeaders }: IncomingMessage, name: string): boolean {
  let isSeen = false
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] as string
    if (given.length !== name.length || given.toLowerCase() !== name) continue
    if (isSeen) return true
    isSeen = true
  }
  return false
}
