import { useQueryClient } from '@tanstack/react-query'
import { BellOff, CircleAlert, CircleCheck, Info, type LucideIcon, TriangleAlert } from 'lucide-react'
import { Component, type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { RelayerError } from '../../index.ts'
import { sentence, words } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { press } from '../data/press-button.ts'
import { isLost, useSession } from '../data/session.tsx'
import { toneOf } from '../data/statuses.ts'
import { time } from '../data/times.ts'

/** What loads: lines of text, rows of a table, a card, tiles, or charts. */
type Shape = 'text' | 'rows' | 'card' | 'tiles' | 'charts'

export const Skeleton = ({ lines = 3, as = 'text' }: { lines?: number; as?: Shape }) => (
  <div className={`skeleton ${as}`} role="status" aria-label="Loading">
    {Array.from({ length: lines }, (_, line) => `line-${line}`).map((line) => (
      <div key={line} />
    ))}
  </div>
)

interface Queried<T> {
  data: T | undefined
  error: unknown
  dataUpdatedAt?: number
  errorUpdateCount?: number
}

interface LoadedProps<T> {
  query: Queried<T>
  loading?: ReactNode
  lines?: number
  as?: Shape
  children: (data: T) => ReactNode
}

/**
 * Shows the data of a query; after a later request failed, with a warning. Without data: the error, or a skeleton while loading, which is
 * `loading` where it has several parts.
 */
export function Loaded<T>({ query, children, loading, ...shape }: LoadedProps<T>) {
  const failure = useFailure(query)
  if (query.data === undefined) {
    if (!failure) return loading ?? <Skeleton {...shape} />
    return <Failing error={failure.error}>Loading has failed since {failure.since}.</Failing>
  }
  return (
    <>
      {failure && (
        <Failing error={failure.error}>
          Out of date
          {query.dataUpdatedAt ? `: from ${time(new Date(query.dataUpdatedAt).toISOString())}` : ''}.
        </Failing>
      )}
      {children(query.data)}
    </>
  )
}

/** The last error of a query, which a query without data forgets at each new attempt, and the time of the first. */
function useFailure({
  data,
  error,
  errorUpdateCount,
}: Queried<unknown>): { error: unknown; since: string } | undefined {
  const [failure, setFailure] = useState<{ error: unknown; since: string }>()
  if (error && error !== failure?.error) setFailure({ error, since: failure?.since ?? time(new Date().toISOString()) })
  // One that never failed is another query.
  if (failure && !error && (data !== undefined || errorUpdateCount === 0)) setFailure(undefined)
  return failure
}

/** Why something could not be loaded, with the button that asks again for everything that failed. */
function Failing({ error, children }: { error: unknown; children: ReactNode }) {
  const queries = useQueryClient()
  const [isBusy, setBusy] = useState(false)
  async function retry() {
    setBusy(true)
    await queries.refetchQueries({ type: 'active', predicate: ({ state }) => state.status !== 'success' })
    setBusy(false)
  }
  return (
    <Callout of="warning" isAlert>
      <p>
        {children} {sentence(errorText(error))}
      </p>
      <button type="button" aria-busy={isBusy} onClick={() => isBusy || void retry()}>
        Retry
      </button>
    </Callout>
  )
}

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

/** Shape and word of each severity, the worst first. */
export const severities = {
  critical: { Shape: CircleAlert, word: 'critical', many: 'critical' },
  warning: { Shape: TriangleAlert, word: 'warning', many: 'warnings' },
  info: { Shape: Info, word: 'notice', many: 'notices' },
  known: { Shape: BellOff, word: 'acknowledged', many: 'acknowledged' },
  succeeded: { Shape: CircleCheck, word: 'succeeded', many: 'succeeded' },
} as const

export type Severity = keyof typeof severities

export function Mark({ of }: { of: Severity }) {
  const { Shape, word } = severities[of]
  return <Shape className="icon" role="img" aria-label={word} />
}

interface CalloutProps {
  of: Severity
  isAlert?: boolean
  children: ReactNode
}

/** What a page says first: a problem or a notice. `isAlert`: it is read out as soon as it appears. */
export const Callout = ({ of, isAlert = false, children }: CalloutProps) => (
  <div className={`callout ${toneOf(of)}`} role={isAlert ? 'alert' : undefined}>
    <Mark of={of} />
    <div>{children}</div>
  </div>
)

/** What went wrong. */
export const Problem = ({ children }: { children: ReactNode }) => (
  <Callout of="critical" isAlert>
    {children}
  </Callout>
)

interface Props {
  /** Where the reader is: at another place it is tried again. */
  place?: string
  children: ReactNode
}

/** Keeps the rest of the console when a part of it cannot be shown, for example because its program could not be loaded. */
export class Boundary extends Component<Props, { isBroken: boolean }> {
  override state = { isBroken: false }

  static getDerivedStateFromError = () => ({ isBroken: true })

  override componentDidUpdate({ place }: Props): void {
    if (place !== this.props.place && this.state.isBroken) this.setState({ isBroken: false })
  }

  override render(): ReactNode {
    if (!this.state.isBroken) return this.props.children
    return (
      <Problem>
        This part of the console could not be loaded.{' '}
        <button type="button" onClick={() => location.reload()}>
          Load the console again
        </button>
      </Problem>
    )
  }
}

interface NothingProps {
  icon: LucideIcon
  title: string
  children?: ReactNode
  action?: ReactNode
  create?: string | false
}

/**
 * What a page shows in the place of an empty list: what would be here, and how to begin. `create`: the label of the page's button that
 * creates the first. That button has the dialog, since this one goes when the list is no longer empty.
 */
export const EmptyState = ({ icon: Icon, title, children, action, create }: NothingProps) => (
  <div className="nothing">
    <Icon className="icon" aria-hidden />
    <h2>{title}</h2>
    {children !== undefined && <p>{children}</p>}
    {action}
    {create && (
      <button type="button" className="primary" onClick={() => press(create)}>
        {create}
      </button>
    )}
  </div>
)

/** Where nothing matches a filter. */
export const ClearFilters = ({ clear }: { clear(): void }) => (
  <button type="button" onClick={clear}>
    Clear filters
  </button>
)

/** Where transactions would be listed. `relayer_id`: the one that sends. */
export function SendOne({ relayer_id }: { relayer_id?: string | false | undefined }) {
  const { may } = useSession()
  if (!may('send')) return null
  return (
    <Link to={relayer_id ? paths.sandboxOf(relayer_id) : paths.sandbox} className="button primary">
      Send a transaction
    </Link>
  )
}
