import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Link } from 'wouter'
import type { Transaction as Its } from '../../index.ts'
import { count, exactAmount, words } from '../data/format.ts'
import { useExplorer, useNetworkOf, useSymbolOf } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { isFinal } from '../data/transactions.ts'
import { Badge } from '../parts/badge.tsx'
import { Bytes } from '../parts/bytes.tsx'
import { Loaded, Skeleton } from '../parts/feedback.tsx'
import { Figure } from '../parts/figure.tsx'
import { Heading } from '../parts/heading.tsx'
import { Address, Copyable, ExplorerLink, RelayerLink, transactionName, transactionPath } from '../parts/links.tsx'
import { isMissing, Missing } from '../parts/missing.tsx'
import { Moment } from '../parts/moment.tsx'
import { Price } from '../parts/price.tsx'
import { submissionText } from '../parts/submission.tsx'
import { isRemedy } from '../parts/suggestions.tsx'
import { Timeline } from '../parts/timeline.tsx'
import { TransactionActions } from '../parts/transaction-actions.tsx'
import { Why } from '../parts/why.tsx'

const Call = lazy(async () => ({ default: (await import('../parts/call.tsx')).Call }))
const Logs = lazy(async () => ({ default: (await import('../parts/logs.tsx')).Logs }))

const poll_ms = 2_000
const base = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'

/** A transaction: why it waits, suggested actions, its timeline and its content. */
export function Transaction(path: { relayer_id: string; transaction_id: string }) {
  const { client } = useSession()
  const key = [path.relayer_id, path.transaction_id]
  const transaction = useQuery({
    queryKey: ['transaction', ...key],
    queryFn: async ({ signal }) => (await client.get(base, { path, signal })).data,
    refetchInterval: poll_ms,
  })
  const explanation = useQuery({
    queryKey: ['explanation', ...key],
    queryFn: async ({ signal }) => (await client.get(`${base}/explanation`, { path, signal })).data,
    refetchInterval: poll_ms,
  })
  const attempts = useQuery({
    queryKey: ['attempts', ...key],
    queryFn: async ({ signal }) =>
      (await client.get(`${base}/attempts`, { path, query: { per_page: 100 }, signal })).data,
    refetchInterval: poll_ms,
  })
  if (isMissing(transaction.error)) return <Missing what="Transaction" to="/transactions" list="the transactions" />
  return (
    <>
      <p className="crumbs">
        <Link to="/transactions">Transactions</Link> / <RelayerLink id={path.relayer_id} />
      </p>
      <Loaded query={transaction} lines={8}>
        {(its) => (
          <>
            <div className="bar">
              <Heading
                name={`Transaction ${its.nonce ?? ''}`}
                opened={{ kind: 'transaction', name: transactionName(its), to: transactionPath(its) }}
              >
                Transaction {its.nonce === null ? '' : `with nonce ${its.nonce}`} <Badge state={its.status} />
              </Heading>
              <TransactionActions
                transaction={its}
                isEnded={isFinal(its.status)}
                hasRemedy={explanation.data?.suggestions.some(isRemedy) ?? false}
              />
            </div>
            <Loaded query={explanation}>{(why) => <Why its={its} why={why} />}</Loaded>
            <div className="columns fixed">
              <div>
                <Content its={its} />
                <Effects its={its} />
              </div>
              <section className="card" aria-labelledby="timeline">
                <h2 id="timeline">Timeline</h2>
                <Loaded query={attempts}>{(signed) => <Timeline transaction={its} attempts={signed} />}</Loaded>
              </section>
            </div>
          </>
        )}
      </Loaded>
    </>
  )
}

function Content({ its }: { its: Its }) {
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
          <Figure name="Hash">
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
