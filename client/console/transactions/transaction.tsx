import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import type {
  Transaction as Its,
  RelayerClient,
  Transaction,
  TransactionAttempt,
  TransactionExplanation,
} from '../../index.ts'
import { Address } from '../components/address.tsx'
import { Bytes } from '../components/bytes.tsx'
import { Loaded, Skeleton } from '../components/feedback.tsx'
import { Crumbs, Heading, isMissing, Missing } from '../components/page.tsx'
import {
  Block,
  CallerName,
  Copyable,
  Figure,
  Figures,
  Moment,
  NetworkLink,
  otherName,
  Pending,
  RelayerLink,
  TransactionHash,
  TransactionLink,
  TransactionState,
  transactionName,
} from '../components/values.tsx'
import { count, exactAmount, words } from '../data/format.ts'
import { useGet } from '../data/get.ts'
import { paths } from '../data/paths.ts'
import { useIsStill, useNetworkOf, useSymbolOf } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { isFinal } from '../data/statuses.ts'
import { zoneShortly } from '../data/times.ts'
import { ExplanationCard, suggestedIn } from './explanation.tsx'
import { submissionText } from './submission.tsx'
import { Timeline } from './timeline.tsx'
import { TransactionActions } from './transaction-actions.tsx'

const Call = lazy(async () => ({ default: (await import('./decoded.tsx')).Call }))
const Logs = lazy(async () => ({ default: (await import('./decoded.tsx')).Logs }))

/** A transaction: why it waits, suggested actions, its timeline and its content. */
export function TransactionPage(path: { relayer_id: string; transaction_id: string }) {
  const whole = useWholeTransaction(path)
  const shown = whole.data?.transaction
  const name = shown ? transactionName(shown) : 'Transaction'
  const isStill = useIsStill(useNetworkOf(path.relayer_id))
  if (isMissing(whole.error)) return <Missing what="Transaction" to={paths.transactions} list="the transactions" />
  return (
    <>
      <Crumbs to={paths.transactions} list="Transactions">
        <RelayerLink id={path.relayer_id} />
      </Crumbs>
      <div className="bar">
        <Heading name={name} opened={shown && { kind: 'transaction', name, to: paths.transaction(shown) }}>
          {name} {shown && <span className="hint">{otherName(shown)}</span>}{' '}
          {shown && <TransactionState transaction={shown} />}
        </Heading>
        {whole.data && shown && (
          <TransactionActions
            transaction={shown}
            why={whole.data.why}
            isEnded={isFinal(shown.status) || shown.is_canceling === true}
            suggested={isStill ? null : suggestedIn(whole.data.why)}
          />
        )}
      </div>
      <Loaded query={whole} loading={<Outline />}>
        {({ transaction, why, signed }) => (
          <>
            <ExplanationCard transaction={transaction} why={why} />
            <div className="columns fixed">
              <div>
                <Content
                  transaction={transaction}
                  why={why}
                  isCancellation={signed.some(({ hash, purpose }) => hash === transaction.hash && purpose === 'cancel')}
                />
                <Effects transaction={transaction} />
              </div>
              <section className="card" aria-labelledby="timeline">
                <div className="bar">
                  <h2 id="timeline">Timeline</h2>
                  <span className="hint">Times in {zoneShortly()}, + since accepted</span>
                </div>
                <Timeline transaction={transaction} attempts={signed} why={why} />
              </section>
            </div>
          </>
        )}
      </Loaded>
    </>
  )
}

/** In the place of its parts while they load. */
const Outline = () => (
  <>
    <Skeleton as="card" lines={2} />
    <div className="columns fixed">
      <Skeleton as="card" lines={10} />
      <Skeleton as="card" lines={5} />
    </div>
  </>
)

/** `isCancellation`: its hash is that of the transfer that cancels it. */
function Content({
  transaction,
  why,
  isCancellation,
}: {
  transaction: Its
  why: TransactionExplanation
  isCancellation: boolean
}) {
  const network = useNetworkOf(transaction.relayer_id)
  const symbol = useSymbolOf(transaction.relayer_id)
  return (
    <section className="card" aria-labelledby="content-of">
      <h2 id="content-of">Content</h2>
      <dl className="figures wide">
        <Figure name="From">
          <Address value={transaction.from} network={network} what="Sender" whole />
        </Figure>
        <Figure name="To">
          {transaction.to === null ? (
            'nobody: it creates a contract'
          ) : (
            <Address value={transaction.to} network={network} what="Receiver" whole />
          )}
        </Figure>
        {(transaction.value !== '0' || !transaction.call) && (
          <Figure name="Value">{exactAmount(transaction.value, symbol)}</Figure>
        )}
        {transaction.call && (
          <Figure name="Call">
            <Suspense fallback={<code>{transaction.call.function}</code>}>
              <Call transaction={transaction} network={network} />
            </Suspense>
          </Figure>
        )}
        {transaction.hash !== null && (
          <Figure name={isCancellation ? 'Hash of the cancellation' : 'Hash'}>
            <TransactionHash value={transaction.hash} network={network} whole />
          </Figure>
        )}
        <Figure name="Network">{network === undefined ? <Pending /> : <NetworkLink name={network} />}</Figure>
        <Figure name="Gas limit">
          {transaction.gas_limit === null ? 'not estimated yet' : count(transaction.gas_limit)}
        </Figure>
        {transaction.submission && <Figure name="Submission">{submissionText(transaction.submission)}</Figure>}
        {transaction.submission?.public_since && (
          <Figure name="Public since">
            <Moment at={transaction.submission.public_since} />
          </Figure>
        )}
        <Figure name="Speed">{transaction.speed ? words(transaction.speed) : 'custom prices'}</Figure>
        {transaction.reference !== null && <Figure name="Reference">{transaction.reference}</Figure>}
        {transaction.valid_until !== null && (
          <Figure name="Valid until">
            <Moment at={transaction.valid_until} />
          </Figure>
        )}
        {transaction.moved_to_transaction_id !== null && (
          <Figure name="Moved to">
            <Successor transaction_id={transaction.moved_to_transaction_id} />
          </Figure>
        )}
        {why.caller !== null && (
          <Figure name="Sent by">
            <CallerName caller={why.caller} name={why.caller_name} />
          </Figure>
        )}
        {Object.entries(transaction.metadata ?? {}).map(([name, value]) => (
          <Figure key={name} name={name}>
            {value}
          </Figure>
        ))}
        <Figure name="ID">
          <Copyable value={transaction.id} whole />
        </Figure>
      </dl>
      {transaction.data !== null && <Bytes name="Data" value={transaction.data} isClosed={transaction.call != null} />}
    </section>
  )
}

/** The transaction that another relayer of the pool sends in its place. */
function Successor({ transaction_id }: { transaction_id: string }) {
  const { data, error } = useGet('/api/v1/transactions/{transaction_id}', { path: { transaction_id } })
  if (data) return <TransactionLink {...data} />
  return error ? <Copyable value={transaction_id} whole /> : <Pending />
}

/** What it did on the chain. */
function Effects({ transaction }: { transaction: Its }) {
  const { receipt } = transaction
  const symbol = useSymbolOf(transaction.relayer_id)
  const network = useNetworkOf(transaction.relayer_id)
  if (!receipt) return null
  return (
    <section className="card">
      <h2>Receipt</h2>
      <Figures
        of={{
          Block:
            network === undefined ? (
              count(receipt.block_number)
            ) : (
              <Block number={receipt.block_number} network={network} />
            ),
          'Gas used': (
            <>
              {receipt.gas_used === null ? 'unknown' : count(receipt.gas_used)}
              {transaction.gas_limit !== null && ` of ${count(transaction.gas_limit)}`}
            </>
          ),
          // All digits, as the fee has: it is this price for each unit of gas.
          Price: receipt.effective_gas_price === null ? 'unknown' : exactAmount(receipt.effective_gas_price, 'gwei', 9),
          Fee: receipt.fee === null ? 'unknown' : exactAmount(receipt.fee, symbol),
          Contract: receipt.contract_address && (
            <Address value={receipt.contract_address} network={network} what="Contract" />
          ),
        }}
      />
      {transaction.hash !== null && (receipt.logs_count ?? 0) > 0 && network !== undefined && (
        <Suspense fallback={<Skeleton lines={2} />}>
          <Logs hash={transaction.hash} relayer_id={transaction.relayer_id} network={network} />
        </Suspense>
      )}
    </section>
  )
}

const pollMs = 2_000
/** So often its parts are read until they are of the same moment. */
const maxReads = 3
const base = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'

interface Path {
  relayer_id: string
  transaction_id: string
}

/** A transaction with its explanation and its signed versions. */
interface WholeTransaction {
  transaction: Transaction
  why: TransactionExplanation
  signed: TransactionAttempt[]
}

function useWholeTransaction(path: Path) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['whole transaction', path.relayer_id, path.transaction_id],
    queryFn: ({ signal }) => readWhole(client, path, signal),
    refetchInterval: pollMs,
  })
}

/** The parts are three requests: they are read again when it changed in between, since they would contradict each other. */
async function readWhole(client: RelayerClient, path: Path, signal: AbortSignal): Promise<WholeTransaction> {
  for (let reads = 1; ; reads += 1) {
    const [one, explanation, attempts] = await Promise.all([
      client.get(base, { path, signal }),
      client.get('/api/v1/transactions/{transaction_id}/explanation', { path, signal }),
      client.get(`${base}/attempts`, { path, query: { per_page: 100 }, signal }),
    ])
    const [transaction, why] = [one.data, explanation.data]
    const isOfOneMoment =
      transaction.status === why.status && attempts.pagination.total_items === why.figures.attempts_count
    if (isOfOneMoment || reads === maxReads) return { transaction, why, signed: attempts.data }
  }
}
