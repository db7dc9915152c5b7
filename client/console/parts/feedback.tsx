import type { ReactNode } from 'react'
import { RelayerError } from '../../index.ts'
import { sentence, time, words } from '../data/format.ts'

export const Problem = ({ children }: { children: ReactNode }) => (
  <p className="problem" role="alert">
    {children}
  </p>
)

export const Skeleton = ({ lines = 3 }: { lines?: number }) => (
  <div className="skeleton" role="status" aria-label="Loading">
    {Array.from({ length: lines }, (_, line) => `line-${line}`).map((line) => (
      <div key={line} />
    ))}
  </div>
)

interface Queried<T> {
  data: T | undefined
  error: unknown
  isPending: boolean
  dataUpdatedAt?: number
}

/** Shows the data of a query; after a later request failed, with a warning. Without data: the error, or a skeleton while loading. */
export function Loaded<T>({
  query,
  lines,
  children,
}: {
  query: Queried<T>
  lines?: number
  children: (data: T) => ReactNode
}) {
  if (query.data !== undefined) {
    return (
      <>
        {query.error ? (
          <Problem>
            Out of date{query.dataUpdatedAt ? `: from ${time(new Date(query.dataUpdatedAt).toISOString())}` : ''}.{' '}
            {errorText(query.error)}
          </Problem>
        ) : null}
        {children(query.data)}
      </>
    )
  }
  if (query.error) return <Problem>{errorText(query.error)}</Problem>
  return <Skeleton {...(lines !== undefined && { lines })} />
}

/** What `fetch` throws when there was no answer; it throws the same type for a header that cannot be sent. */
export const isLost = (error: unknown): boolean =>
  error instanceof TypeError && !/ByteString|header/i.test(error.message)

/** The text of an error. */
export function errorText(error: unknown): string {
  if (!(error instanceof RelayerError))
    return isLost(error) ? 'The service does not respond.' : error instanceof Error ? error.message : `${error}`
  if (error.status === 404) return 'Not found: it does not exist, or this API key has no access to it.'
  return error.details.length === 0 ? error.message : error.details.map((detail) => detailText(detail)).join(' ')
}

type Detail = RelayerError['details'][number]

/** What a detail is about, such as ["policies", "whitelist_receivers", "0"]. */
export const placesOf = ({ path }: Detail): string[] =>
  path.split('/').filter((place) => !['', 'body', 'path', 'query', 'headers'].includes(place))

/** A message as a sentence. `isBeside`: it stands beside its field, which names it. */
export function detailText(detail: Detail, isBeside = false): string {
  const [last = '', before = ''] = placesOf(detail).reverse()
  const isEntry = /^\d+$/.test(last)
  const entry = isEntry ? `entry ${Number(last) + 1}` : ''
  const subject = isBeside ? entry : isEntry ? `${words(before)}, ${entry},` : words(last)
  return sentence(
    /^(?:must|is|was|has|may)\b/.test(detail.message) ? `${subject} ${detail.message}`.trim() : detail.message,
  )
}
