import { lazy, Suspense } from 'react'
import { Link } from 'wouter'
import type { Transaction as Its } from '../../index.ts'
import { count, exactAmount, words } from '../data/format.ts'
import { useExplorer, useNetworkOf, useSymbolOf } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { isFinal } from '../data/statuses.ts'
import { zoneShortly } from '../data/times.ts'
import { useWholeTransaction } from '../data/whole-transaction.ts'
import { Bytes } from '../parts/bytes.tsx'
import { Loaded, Skeleton } from '../parts/feedback.tsx'
import { Figure } from '../parts/figure.tsx'
import { Heading } from '../parts/heading.tsx'
import { Address, Copyable, ExplorerLink, RelayerLink, transactionName, transactionPath } from '../parts/links.tsx'
import { isMissing, Missing } from '../parts/missing.tsx'
import { Moment } from '../parts/moment.tsx'
import { Price } from '../parts/price.tsx'
import { useIsStill } from '../parts/relayer-troubles.tsx'
import { submissionText } from '../parts/submission.tsx'
import { isRemedy } from '../parts/suggestions.tsx'
import { Timeline } from '../parts/timeline.tsx'
import { TransactionActions } from '../parts/transaction-actions.tsx'
import { TransactionState } from '../parts/transaction-state.tsx'
import { Why } from '../parts/why.tsx'

const Call = lazy(async () => ({ default: (await import('../parts/call.tsx')).Call }))
const Logs = lazy(async () => ({ default: (await import('../parts/logs.tsx')).Logs }))

/** A transaction: why it waits, suggested actions, its timeline and its content. */
export function Transaction(path: { relayer_id: string; transaction_id: string }) {
  const whole = useWholeTransaction(path)
  const { data } = whole
  const isStill = useIsStill(useNetworkOf(path.relayer_id))
  if (isMissing(whole.error)) return <Missing what="Transaction" to="/transactions" list="the transactions" />
  return (
    <>
      <p className="crumbs">
        <Link to="/transactions">Transactions</Link> / <RelayerLink id={path.relayer_id} />
      </p>
      <div className="bar">
        <Heading
          name={`Transaction ${data?.its.nonce ?? ''}`.trim()}
          opened={data && { kind: 'transaction', name: transactionName(data.its), to: transactionPath(data.its) }}
        >
          Transaction {data && data.its.nonce !== null && `with nonce ${data.its.nonce} `}
          {data && <TransactionState its={data.its} />}
        </Heading>
        {data && (
          <TransactionActions
            transaction={data.its}
            isEnded={isFinal(data.its.status) || data.its.is_canceling === true}
            hasRemedy={isStill || data.why.suggestions.some(isRemedy)}
          />
        )}
      </div>
      <Loaded query={whole} loading={<Outline />}>
        {({ its, why, signed }) => (
          <>
            <Why its={its} why={why} />
            <div className="columns fixed">
              <div>
                <Content
                  its={its}
                  isCancellation={signed.some(({ hash, purpose }) => hash === its.hash && purpose === 'cancel')}
                />
                <Effects its={its} />
              </div>
              <section className="card" aria-labelledby="timeline">
                <div className="bar">
                  <h2 id="timeline">Timeline</h2>
                  <span className="hint">Times in {zoneShortly()}</span>
                </div>
                <Timeline transaction={its} attempts={signed} />
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
function Content({ its, isCancellation }: { its: Its; isCancellation: boolean }) {
  const { may } = useSession()
  const network = useNetworkOf(its.relayer_id)
  const symbol = useSymbolOf(its.relayer_id)
  const explorer = useExplorer(network)
  return (
    <section className="card" aria-labelledby="content-of">
      <h2 id="content-of">Content</h2>
      <dl className="figures wide">
        <Figure name="From">
          <Address value={its.from} network={network} what="Sender" whole />
        </Figure>
        <Figure name="To">
          {its.to === null ? (
            'nobody: it creates a contract'
          ) : (
            <Address value={its.to} network={network} what="Receiver" whole />
          )}
        </Figure>
        <Figure name="Value">{exactAmount(its.value, symbol)}</Figure>
        {its.call && (
          <Figure name="Call">
            <Suspense fallback={<code>{its.call.function}</code>}>
              <Call its={its} network={network} />
            </Suspense>
          </Figure>
        )}
        {its.hash !== null && (
          <Figure name={isCancellation ? 'Hash of the cancellation' : 'Hash'}>
            <span className="copyable">
              <Copyable value={its.hash} whole /> <ExplorerLink to={explorer('tx', its.hash)} what="Transaction" />
            </span>
          </Figure>
        )}
        <Figure name="Network">{network ?? '…'}</Figure>
        <Figure name="Gas limit">{its.gas_limit === null ? 'not estimated yet' : count(its.gas_limit)}</Figure>
        <Figure name="Submission">{its.submission ? submissionText(its.submission) : 'public'}</Figure>
        {its.submission?.public_since && (
          <Figure name="Public since">
            <Moment at={its.submission.public_since} />
          </Figure>
        )}
        <Figure name="Speed">{its.speed ? words(its.speed.tier) : 'custom prices'}</Figure>
        {its.reference !== null && <Figure name="Reference">{its.reference}</Figure>}
        {Object.entries(its.metadata ?? {}).map(([name, value]) => (
          <Figure key={name} name={name}>
            {value}
          </Figure>
        ))}
        <Figure name="ID">
          <Copyable value={its.id} whole />
        </Figure>
      </dl>
      {its.data !== null && <Bytes name="Data" value={its.data} />}
      {(may('sign') || may('send')) && (
        <p className="hint">
          <Link to={`/sandbox/${encodeURIComponent(its.relayer_id)}/${encodeURIComponent(its.id)}`}>
            Open in the sandbox
          </Link>{' '}
          to simulate or send it again.
        </p>
      )}
    </section>
  )
}

/** What it did on the chain. */
function Effects({ its }: { its: Its }) {
  const { receipt } = its
  const symbol = useSymbolOf(its.relayer_id)
  const network = useNetworkOf(its.relayer_id)
  if (!receipt) return null
  return (
    <section className="card">
      <h2>Receipt</h2>
      <dl className="figures">
        <Figure name="Block">{count(receipt.block_number)}</Figure>
        <Figure name="Gas used">
          {receipt.gas_used === null ? 'unknown' : count(receipt.gas_used)}
          {its.gas_limit !== null && ` of ${count(its.gas_limit)}`}
        </Figure>
        <Figure name="Price">
          <Price wei={receipt.effective_gas_price} />
        </Figure>
        <Figure name="Fee">{receipt.fee === null ? 'unknown' : exactAmount(receipt.fee, symbol)}</Figure>
        {receipt.contract_address && (
          <Figure name="Contract">
            <Address value={receipt.contract_address} network={network} what="Contract" />
          </Figure>
        )}
      </dl>
      {its.hash !== null && (receipt.logs_count ?? 0) > 0 && network !== undefined && (
        <Suspense fallback={<Skeleton lines={2} />}>
          <Logs hash={its.hash} relayer_id={its.relayer_id} network={network} />
        </Suspense>
      )}
    </section>
  )
}
