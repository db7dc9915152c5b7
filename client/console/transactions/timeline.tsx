import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Transaction, TransactionAttempt, TransactionExplanation, TransactionHistoryEntry } from '../../index.ts'
import { Change } from '../components/change.tsx'
import { Block, CallerName, Moment, RowTime, Time, TransactionHash } from '../components/values.tsx'
import { count, exactAmount, exactly, gasPrice, gwei } from '../data/format.ts'
import { askNode } from '../data/get.ts'
import { callerName, useNetworkOf, useSymbolOf } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { isFinal, type Tone, toneOf } from '../data/statuses.ts'
import { clock, duration, rowTime, span } from '../data/times.ts'
import { type Run, runsOf } from './signed-versions.ts'

interface TimelineProps {
  transaction: Transaction
  attempts: TransactionAttempt[]
  why: TransactionExplanation
}

/**
 * The history of a transaction: accepted, each signed version with the nodes' response, what callers and reorganizations changed, mined, and
 * its final status.
 */
export function Timeline({ transaction, attempts, why }: TimelineProps) {
  const block = transaction.receipt?.block_number
  const blockAt = useBlockTime(transaction.relayer_id, block)
  const symbol = useSymbolOf(transaction.relayer_id)
  const network = useNetworkOf(transaction.relayer_id)
  const changed = why.history.map((entry) => changedStep(entry, symbol))
  const before: Step[] = [
    { name: 'Accepted', at: transaction.created_at, ...(why.caller !== null && { more: senderOf(why) }) },
    ...[...runsOf(attempts).map((run) => signed(run, network)), ...changed].sort(
      (a, b) => msOr(a.at, 0) - msOr(b.at, 0),
    ),
  ]
  const steps: Step[] = [
    ...before,
    ...(block === undefined
      ? []
      : [inBlock({ block, network, blockAt }, before.at(-1)?.at ?? null, transaction.ended_at)]),
    ...ended(transaction),
  ]
  return (
    <ol className="timeline">
      {steps.map(({ name, title = name, at, isPlaced = false, tone, more }, index) => (
        <li key={`${name} ${at}`} className={tone}>
          <div className="step">
            <strong>{title}</strong>
            {index > 0 && <Since at={at} isPlaced={isPlaced} start={transaction.created_at} />}
          </div>
          {at !== null && (index === 0 ? <RowTime at={at} /> : <StepTime at={at} before={steps[index - 1]?.at} />)}
          {more}
        </li>
      ))}
    </ol>
  )
}

/**
 * A block has its time to the second, by the clock of its proposer, so it may seem to be earlier than the step before, or later than the end.
 * The service does not keep when it saw the block: the step stands between its neighbors, and has the block's own time as a hint.
 */
function inBlock(
  { block, network, blockAt }: { block: number; network: string | undefined; blockAt: string | null },
  before: string | null,
  endedAt: string | null,
): Step {
  const name = `In block ${count(block)}`
  const title = network !== undefined && (
    <>
      In block <Block number={block} network={network} />
    </>
  )
  const at = blockAt && between(blockAt, before, endedAt)
  const isPlaced = at !== blockAt
  const step = { name, ...(title && { title }), at, isPlaced }
  if (at === null || blockAt === null || clock(at) === clock(blockAt)) return step
  return {
    ...step,
    more: (
      <div className="hint">
        block time <Time at={blockAt}>{clock(blockAt)}</Time>
      </div>
    ),
  }
}

/** The time, or the nearest one that is not outside of these. */
function between(at: string, first: string | null, last: string | null): string {
  const ms = Math.min(
    Math.max(Date.parse(at), msOr(first, Number.NEGATIVE_INFINITY)),
    msOr(last, Number.POSITIVE_INFINITY),
  )
  return ms === Date.parse(at) ? at : new Date(ms).toISOString()
}

const msOr = (at: string | null, none: number): number => (at === null ? none : Date.parse(at))

/** How long after the acceptance it was. */
function Since({ at, isPlaced, start }: { at: string | null; isPlaced: boolean; start: string }) {
  const ms = at === null ? -1 : Date.parse(at) - Date.parse(start)
  if (ms < 0) return null
  return (
    <span className="hint" title={`since it was accepted${isPlaced ? ', as near as it is known' : ''}`}>
      {isPlaced && '≈ '}+{duration(ms)}
    </span>
  )
}

/** The day stands once. */
const StepTime = ({ at, before }: { at: string; before: string | null | undefined }) =>
  before && rowTime(before).split(',')[0] === rowTime(at).split(',')[0] ? (
    <Time at={at} className="moment">
      {clock(at)}
    </Time>
  ) : (
    <RowTime at={at} />
  )

const changeNames: Record<TransactionHistoryEntry['event'], string> = {
  replaced: 'Replaced',
  sped_up: 'Sped up',
  canceled: 'Canceled',
  reorganized: 'Reorganized',
}

/** What a caller or a reorganization changed. */
function changedStep(entry: TransactionHistoryEntry, symbol: string): Step {
  const { event, occurred_at: at, block_number, changes } = entry
  const by = callerText(entry)
  return {
    name: `${changeNames[event]}${by === undefined ? '' : ` by ${by}`}`,
    at,
    ...(event === 'reorganized' && { tone: 'warn' }),
    more: (
      <>
        {block_number !== null && <div>A reorganization removed block {count(block_number)}, which it was in.</div>}
        {changes.map(({ member, before, after }) => (
          <div key={member} className="long">
            <Change
              member={member}
              before={contentText(member, before, symbol)}
              after={contentText(member, after, symbol)}
            />
          </div>
        ))}
      </>
    ),
  }
}

const contentText = (member: string, text: string | null, symbol: string): string =>
  text === null || text === '0x' ? 'none' : member === 'value' ? exactAmount(text, symbol) : text

const senderOf = ({ caller, caller_name }: Pick<TransactionExplanation, 'caller' | 'caller_name'>) => (
  <div>from {caller !== null && <CallerName caller={caller} name={caller_name} />}</div>
)

/** Who asked for it, by name; undefined: nobody, or the reader may not know. */
const callerText = ({
  caller,
  caller_name,
}: Pick<TransactionHistoryEntry, 'caller' | 'caller_name'>): string | undefined =>
  caller === null ? undefined : (caller_name ?? callerName(caller))

function ended({ status, status_reason, ended_at }: Transaction): Step[] {
  if (!isFinal(status)) return []
  const more = status_reason !== null && status !== 'failed' && <div className="long">{status_reason}</div>
  return [{ name: `${status[0]?.toUpperCase()}${status.slice(1)}`, at: ended_at, tone: toneOf(status), more }]
}

/** The time of a block, as a node tells it; null until then. */
function useBlockTime(relayerId: string, block: number | undefined): string | null {
  const { client, may } = useSession()
  const body = { method: 'eth_getBlockByNumber' as const, params: [`0x${block?.toString(16)}`, false] }
  const { data } = useQuery({
    queryKey: ['block time', relayerId, block],
    queryFn: async ({ signal }) => {
      const answer = await askNode<{ timestamp?: string }>(client, relayerId, body, signal)
      return answer?.timestamp === undefined ? null : new Date(Number(answer.timestamp) * 1_000).toISOString()
    },
    enabled: block !== undefined && may('read'),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return data ?? null
}

/** A step of a transaction's timeline. */
interface Step {
  name: string
  /** The name with links. */
  title?: ReactNode
  at: string | null
  /** Its time is a neighbor's: nobody measured how long after another step it was. */
  isPlaced?: boolean
  tone?: Tone
  more?: ReactNode
}

function signed([first, ...others]: Run, network: string | undefined): Step {
  const last = others.at(-1)
  return last === undefined ? alone(first, network) : folded(first, last, others, network)
}

/** `Signed versions 3–17`, with the range of their prices, and each of them on request. */
function folded(
  first: TransactionAttempt,
  last: TransactionAttempt,
  others: TransactionAttempt[],
  network: string | undefined,
): Step {
  const betweenMs = (Date.parse(last.signed_at) - Date.parse(first.signed_at)) / others.length
  const prices = [first, last].map((its) => its.gas_price ?? its.max_fee_per_gas)
  return {
    name: `Signed versions ${first.number}–${last.number}${first.purpose === 'cancel' ? ', cancellations' : ''}`,
    at: last.signed_at,
    ...(first.refusal_message !== null && { tone: 'bad' }),
    more: (
      <>
        <div title={prices.map((wei) => exactGwei(wei)).join(' → ')}>
          Price {prices.map(gwei).join(' → ')} gwei, every {span(betweenMs)}
        </div>
        <div className="answer">{answerOf(last)}</div>
        <details>
          <summary>Show these {others.length + 1} versions</summary>
          {[first, ...others].map((its) => (
            <div key={its.number} className="version">
              <strong>Version {its.number}</strong> <Moment at={its.signed_at} />
              {alone(its, network).more}
            </div>
          ))}
        </details>
      </>
    ),
  }
}

const alone = (
  { purpose, number, signed_at, refusal_message, ...its }: TransactionAttempt,
  network: string | undefined,
): Step => ({
  name: purpose === 'cancel' ? `Signed version ${number}, a cancellation` : `Signed version ${number}`,
  at: signed_at,
  ...(refusal_message !== null && { tone: 'bad' }),
  more: (
    <>
      <div className="stated">
        <TransactionHash value={its.hash} network={network} />
        <span>nonce {its.nonce ?? 'unknown'}</span>
      </div>
      <div title={exactPriceOf(its)}>{priceOf(its)}</div>
      <div className="answer">{answerOf({ signed_at, refusal_message, ...its })}</div>
    </>
  ),
})

const exactGwei = (wei: string | null) => (wei === null ? 'unknown' : `${exactly(wei, 9)} gwei`)

const exactPriceOf = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: Prices): string =>
  gas_price !== null
    ? exactGwei(gas_price)
    : `${exactGwei(max_fee_per_gas)}, tip ${exactGwei(max_priority_fee_per_gas)}`

type Prices = Pick<TransactionAttempt, 'gas_price' | 'max_fee_per_gas' | 'max_priority_fee_per_gas'>

function priceOf({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: Prices): string {
  if (gas_price !== null) return `Price ${gasPrice(gas_price)}`
  return `Price at most ${gasPrice(max_fee_per_gas)}, tip ${gasPrice(max_priority_fee_per_gas)}`
}

function answerOf({
  signed_at,
  accepted_at,
  refusal_message,
  is_mined,
}: Pick<TransactionAttempt, 'signed_at' | 'accepted_at' | 'refusal_message' | 'is_mined'>): string {
  if (refusal_message !== null && !is_mined) return `A node rejected it: ${refusal_message}`
  const accepted =
    accepted_at === null
      ? []
      : [`A node accepted it after ${duration(Date.parse(accepted_at) - Date.parse(signed_at))}.`]
  if (is_mined) return [...accepted, 'This version was mined.'].join(' ')
  return accepted[0] ?? 'No node has accepted it yet.'
}
