import * as v from 'valibot'

/** Headers by the URL of the remote signer that they are for: its origin and path, as the operator gives them. */
export type HeadersByUrl = Record<string, Record<string, string>>

const baseOf = (url: string) => `${new URL(url).origin}${new URL(url).pathname.replace(/\/$/, '')}`

/** Without a query, so that the URL of a signer can be equal to it. */
const isBase = (text: string) => URL.canParse(text) && baseOf(text) === text.replace(/\/$/, '')

const headersByUrl = v.record(v.pipe(v.string(), v.check(isBase)), v.record(v.string(), v.string()))

/** The setting REMOTE_SIGNER_HEADERS; undefined when it has another form. */
export function readHeadersByUrl(text: string): HeadersByUrl | undefined {
  try {
    return v.parse(headersByUrl, JSON.parse(text))
  } catch {
    return undefined
  }
}

/** A caller who names another path of the same host gets none of them. */
export const headersOf = (url: string, byUrl: HeadersByUrl): Record<string, string> =>
  Object.entries(byUrl).find(([one]) => baseOf(one) === baseOf(url))?.[1] ?? {}
