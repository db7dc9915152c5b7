import { Check, CircleAlert, Copy, ExternalLink } from 'lucide-react'
import { type ComponentProps, type ReactNode, useState, useSyncExternalStore } from 'react'
import { getAddress } from 'viem'
import { Link } from 'wouter'
import type { Transaction } from '../../index.ts'
import { count, exactAmount, fixed, short, words } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { callerName, useApiKeys, useExplorer, useNetworkState, useRelayers, useSymbols } from '../data/resources.ts'
import { isSlow, stateOf, toneOf } from '../data/statuses.ts'
import { age, ageOrDate, clock, inBothZones, rowTime, span, time } from '../data/times.ts'

/** A status as a word; its color means the same everywhere. `waited`: it lasts too long. */
export const Badge = ({ state, waited }: { state: string; waited?: string | undefined }) => (
  <span className={`badge ${waited === undefined ? toneOf(state) : 'warn'}`}>
    {words(state)}
    {waited !== undefined && <span className="waited">, {waited}</span>}
  </span>
)

interface FigureProps {
  name: ReactNode
  /** On a phone, it takes both columns. */
  isLong?: boolean
  children: ReactNode
}

/** A value with its name, in a list of class `figures`. */
export const Figure = ({ name, isLong = false, children }: FigureProps) => (
  <div className={isLong ? 'long-value' : undefined}>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

interface FiguresProps {
  /** By name; what is not there is left out. */
  of: Record<string, ReactNode>
  isWide?: boolean
  isHead?: boolean
}

/** A text with more letters is too wide for one of the two columns of a phone. */
const maxInColumn = 20

/** More of them would be rows that begin anywhere. */
const maxInRow = 5

/** Values with their names above them: a few in a row, more in columns. */
export function Figures({ of, isWide = false, isHead = false }: FiguresProps) {
  const known = Object.entries(of).filter(([, value]) => value !== false && value !== null && value !== undefined)
  const kind = isWide ? ' wide' : isHead ? ' head' : known.length > maxInRow ? ' facts' : ''
  return (
    <dl className={`figures${kind}`}>
      {known.map(([name, value]) => (
        <Figure key={name} name={name} isLong={typeof value === 'string' && value.length > maxInColumn}>
          {value}
        </Figure>
      ))}
    </dl>
  )
}

const tickMs = 5_000

let now = Date.now()
const readers = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(read: () => void): () => void {
  readers.add(read)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const one of readers) one()
  }, tickMs)
  return () => {
    readers.delete(read)
    if (readers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Renders again as time goes on. */
export const useTicks = () => useSyncExternalStore(subscribe, () => now)

type TimeProps = ComponentProps<'time'> & { at: string; after?: string }

/** A text for a time; the pointer on it shows the exact one with its zone. */
export const Time = ({ at, after = '', ...its }: TimeProps) => (
  <time dateTime={at} title={inBothZones(at) + after} {...its} />
)

/**
 * How long ago it was, which goes on, and from a day on its date; the pointer on it shows the exact time with its zone. Null: it never was.
 */
export function Age({ of }: { of: string | null }) {
  useTicks()
  if (of === null) return 'never'
  const [text, ago] = ageOrDate(of).split(/(?= ago$)/)
  return (
    <Time at={of}>
      {text}
      {ago && <span className="ago">{ago}</span>}
    </Time>
  )
}

/** The same in a column: grey, since the rows are about something else. */
export const Old = ({ of }: { of: string | null }) => (
  <span className="hint">
    <Age of={of} />
  </span>
)

/** The time since then as a duration, which goes on. */
export function Lasting({ since }: { since: string }) {
  useTicks()
  return <Time at={since}>{age(since)}</Time>
}

/** What a column of ages is sorted by: the youngest first. Null has no age yet. */
export const byAge = (of: string | null): number => (of === null ? Number.POSITIVE_INFINITY : -Date.parse(of))

/** How long it is until then. */
export function Until({ at }: { at: string }) {
  useTicks()
  const ms = Date.parse(at) - Date.now()
  return <Time at={at}>{ms <= 0 ? 'due now' : `in ${span(ms)}`}</Time>
}

/** A time with its zone; the pointer on it shows how long ago it was, and the time in UTC. */
export const Moment = ({ at }: { at: string | null }) => (at === null ? '–' : <Exact at={at} text={time(at)} />)

/** How long ago it was, and when: `2 min ago · 16:04:42`. The pointer on it shows the exact time with its zone. Null: it never was. */
export function Ago({ at }: { at: string | null }) {
  useTicks()
  if (at === null) return 'never'
  const ms = Date.now() - Date.parse(at)
  return (
    <Time at={at} className="moment">
      {ms < 86_400_000 ? `${age(at)} ago · ${clock(at)}` : rowTime(at)}
    </Time>
  )
}

/** The same in a row: the zone stands once above the rows. */
export const RowTime = ({ at }: { at: string | null }) => (at === null ? '–' : <Exact at={at} text={rowTime(at)} />)

const Exact = ({ at, text }: { at: string; text: string }) => (
  <Time at={at} className="moment" after={Date.parse(at) > Date.now() ? '' : `, ${age(at)} ago`}>
    {text}
  </Time>
)

/** What a transaction is named by. Absent: not known here. */
interface NamedTransaction {
  id: string
  relayer_id: string | null
  nonce?: number | null
  reference?: string | null
}

/** Its place in the queue of its relayer, or its ID until it has one: `oracle-1 · nonce 12`, `oracle-1 · 01a21d…32f9`. */
const placeName = ({ relayer_id, nonce = null, id }: NamedTransaction): string =>
  `${relayer_id} · ${nonce === null ? short(id) : `nonce ${nonce}`}`

/** What every page calls a transaction: its reference, or else its place. */
export const transactionName = (its: NamedTransaction): string => its.reference ?? placeName(its)

/** The same on the page of its relayer, which is named there already. */
export const ownName = ({ reference, nonce = null, id }: NamedTransaction): string =>
  reference ?? (nonce === null ? short(id) : `nonce ${nonce}`)

/** Its other name, which stands beside the first one or in its title; undefined: it has no reference. */
export const otherName = (its: NamedTransaction): string | undefined =>
  its.reference == null ? undefined : placeName(its)

/** What a message says of a thing, with the link to it: `Pool eu-1 is created.` */
export const about = (kind: string, link: ReactNode, outcome: string) => (
  <>
    {kind} {link} {outcome}
  </>
)

/** A deleted relayer has no page. */
export function RelayerLink({ id }: { id: string }) {
  const { data } = useRelayers()
  if (data?.every((one) => one.id !== id)) return <Identifier value={id} />
  return (
    <Link to={paths.relayer(id)}>
      <Identifier value={id} />
    </Link>
  )
}

/** The page of a network, by its name, with a mark while its nodes are down or make no blocks. */
export function NetworkLink({ name }: { name: string }) {
  const id = `evm:${name}`
  const state = useNetworkState()({ id })
  return (
    <Link to={paths.network(id)} title={state}>
      {name}
      {state && (
        <>
          <CircleAlert className="icon mark" aria-hidden />
          <span className="hidden">: {state}</span>
        </>
      )}
    </Link>
  )
}

/** The number of a block, which leads to the network's explorer where it has one. */
export function Block({ number, network }: { number: number; network: string }) {
  const page = useExplorer(network)('block', `${number}`)
  return page === undefined ? (
    count(number)
  ) : (
    <a className="block" href={page} target="_blank" rel="noopener noreferrer">
      {count(number)}
    </a>
  )
}

/** In the place of a short value that loads. */
export const Pending = () => <span className="pending" role="img" aria-label="Loading" />

/** The page of a transaction, by its name. `isOwn`: on the page of its relayer. */
export const TransactionLink = ({
  isOwn = false,
  ...its
}: NamedTransaction & { relayer_id: string; isOwn?: boolean }) => (
  <Link to={paths.transaction(its)} title={otherName(its) ?? its.id}>
    {isOwn ? ownName(its) : transactionName(its)}
  </Link>
)

/** A link to the network's explorer, where it has one. */
export const ExplorerLink = ({ to, what }: { to: string | undefined; what: string }) =>
  to === undefined ? null : (
    <a
      className="explorer"
      href={to}
      target="_blank"
      rel="noopener noreferrer"
      aria-label={`${what} in the explorer`}
      title={`${what} in the explorer`}
    >
      <ExternalLink className="icon" aria-hidden />
    </a>
  )

/** A long value, shortened, with a button that copies all of it. `whole`: all is shown, except for the middle on a phone. */
export const Copyable = ({ value, whole = false }: { value: string; whole?: boolean }) => (
  <span className="copyable">
    <code title={value} className={whole ? 'cut' : 'short'}>
      {whole ? <Identifier value={value} /> : short(value)}
    </code>
    <CopyButton text={value} label={`Copy ${value.slice(0, 80)}`} />
  </span>
)

/** The hash of a transaction, with the explorer of its network. */
export function TransactionHash({
  value,
  network,
  whole = false,
}: {
  value: string
  network: string | undefined
  whole?: boolean
}) {
  const explorer = useExplorer(network)
  return (
    <span className="copyable">
      <Copyable value={value} whole={whole} /> <ExplorerLink to={explorer('tx', value)} what="Transaction" />
    </span>
  )
}

/** Who made a request, by name, with the link to the page of the API key where it has one. */
export function CallerName({ caller, name }: { caller: string; name: string | null }) {
  const text = name ?? callerName(caller)
  return useApiKeys().data?.some(({ id }) => id === caller) ? (
    <Link to={paths.apiKey(caller)}>{text}</Link>
  ) : (
    <span title={caller}>{text}</span>
  )
}

/** An amount in a column, where the points stand below each other; all of its digits are in its title. */
export function Paid({ wei, network }: { wei: string; network: string }) {
  const symbol = useSymbols()(network)
  return <span title={exactAmount(wei, symbol)}>{fixed(wei, symbol)}</span>
}

/** All digits of an address, with its checksum (ERC-55). */
export const wholeAddress = (address: string | null | undefined): ReactNode =>
  address == null ? undefined : <code>{getAddress(address)}</code>

/** All of an address, a hash or a UUID, without its middle on a phone. Other texts stay as they are. */
export const Identifier = ({ value }: { value: string }) =>
  /^(?:0x)?[0-9a-f-]{32,}$/i.test(value) ? (
    <>
      {value.slice(0, 6)}
      <span className="middle">{value.slice(6, -4)}</span>
      {value.slice(-4)}
    </>
  ) : (
    value
  )

const outcomeMs = 1_500

/** A button that copies a text, and says whether it did. */
export function CopyButton({ text, label, children }: { text: string; label: string; children?: string }) {
  const [outcome, setOutcome] = useState<'Copied' | 'Not allowed: select it'>()
  async function run() {
    setOutcome((await copy(text)) ? 'Copied' : 'Not allowed: select it')
    setTimeout(() => setOutcome(undefined), outcomeMs)
  }
  const Icon = outcome === 'Copied' ? Check : Copy
  return (
    <button type="button" className="quiet small" aria-label={label} title={label} onClick={() => void run()}>
      <Icon className="icon" aria-hidden />
      {outcome ?? children}
    </button>
  )
}

/** Copies a text; false: the browser does not allow it. Over plain HTTP there is no `navigator.clipboard`. */
async function copy(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    const done = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
    if (done) return true
  }
  const field = document.createElement('textarea')
  field.value = text
  // A dialog takes the focus back from everything outside of it.
  const place = document.querySelector('[role="dialog"]') ?? document.body
  const before = document.activeElement
  place.append(field)
  field.select()
  const done = document.execCommand('copy')
  field.remove()
  if (before instanceof HTMLElement) before.focus()
  return done
}

type Its = Pick<Transaction, 'status' | 'created_at'> & { is_canceling?: boolean }

const waitOf = (transaction: Its): string | undefined => (isSlow(transaction) ? age(transaction.created_at) : undefined)

/** Its status, and how long it waits for a block when that takes minutes. */
export function TransactionState({ transaction }: { transaction: Its }) {
  useTicks()
  return <Badge state={stateOf(transaction)} waited={waitOf(transaction)} />
}

/** The same as a text. */
export const stateText = (transaction: Its): string =>
  [words(stateOf(transaction)), waitOf(transaction)].filter(Boolean).join(', ')
