import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { Explanation, Transaction as Its } from '../../index.ts'
import { age, amount, count, gwei, inCoins, time, words } from '../data/format.ts'
import { useExplorer, useNetworkOf, useSymbolOf } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Badge } from '../parts/badge.tsx'
import { CopyButton } from '../parts/copy.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable, ExplorerLink, RelayerLink, relayerPath, transactionPath } from '../parts/links.tsx'
import { Suggestions } from '../parts/suggestions.tsx'
import { Timeline } from '../parts/timeline.tsx'
import { TransactionActions } from '../parts/transaction-actions.tsx'

const poll_ms = 2_000
const base = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const ended: ReadonlySet<string> = new Set(['confirmed', 'failed', 'canceled', 'expired'])

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
  return (
    <>
      <p className="crumbs">
        <RelayerLink id={path.relayer_id} /> / transaction
      </p>
      <Loaded query={transaction}>
        {(its) => (
          <>
            <Heading name={`Transaction ${its.nonce}`}>
              Transaction {its.nonce === null ? '' : `with nonce ${its.nonce}`} <Badge state={its.status} />
            </Heading>
            <Loaded query={explanation}>{(why) => <Why its={its} why={why} />}</Loaded>
            <TransactionActions transaction={its} isEnded={ended.has(its.status)} />
            <h2>Timeline</h2>
            <Loaded query={attempts}>{(signed) => <Timeline transaction={its} attempts={signed} />}</Loaded>
            <Facts its={its} />
          </>
        )}
      </Loaded>
    </>
  )
}

function Why({ its, why }: { its: Its; why: Explanation }) {
  const { figures } = why
  const symbol = useSymbolOf(its.relayer_id)
  const shown = [
    ['Offered price', figures.price, 'gwei'],
    ['Base fee', figures.base_fee, 'gwei'],
    ['Price cap', figures.price_cap, 'gwei'],
    ['Balance', figures.balance, 'ether'],
    ['Reserved', figures.reserved, 'ether'],
  ] as const
  return (
    <section className={`card why ${why.waiting_for === null ? '' : 'waits'}`} aria-label="Explanation">
      <p className="summary">{inCoins(inGwei(why.summary))}</p>
      <p className="hint">
        {why.waiting_for === null ? `Ended ${age(why.since)} ago` : `${words(why.waiting_for)}, for ${age(why.since)}`}
        {why.blocked_by !== null && (
          <>
            {' · '}
            <Link to={transactionPath({ relayer_id: its.relayer_id, id: why.blocked_by })}>
              Open the transaction that blocks it
            </Link>
          </>
        )}
      </p>
      {why.waiting_for !== null && (
        <dl className="figures">
          {shown
            .filter(([, value]) => value !== null)
            .map(([name, value, unit]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{unit === 'gwei' ? `${gwei(value)} gwei` : amount(value, symbol)}</dd>
              </div>
            ))}
          <div>
            <dt>On-chain nonce</dt>
            <dd>{figures.next_nonce ?? 'unknown'}</dd>
          </div>
        </dl>
      )}
      <Suggestions suggestions={why.suggestions} from={its.from} />
    </section>
  )
}

/** Replaces prices in wei in a sentence by gwei. */
const inGwei = (summary: string): string =>
  summary.replaceAll(/\((\d{7,15})\)/g, (_, wei: string) => `(${gwei(wei)} gwei)`)

function Facts({ its }: { its: Its }) {
  const { receipt, error } = its
  const symbol = useSymbolOf(its.relayer_id)
  const explorer = useExplorer(useNetworkOf(its.relayer_id))
  return (
    <>
      {error && (
        <section className="card" aria-label="Error">
          <h2>Why it failed</h2>
          <p className="summary">
            {words(error.code)}: {error.message}
          </p>
          {error.revert_data && <Bytes name="Revert data" value={error.revert_data} />}
        </section>
      )}
      {receipt && (
        <section>
          <h2>Receipt</h2>
          <dl className="figures">
            <Fact name="Block" value={`${receipt.block_number}`} />
            <Fact name="Gas used" value={`${receipt.gas_used ?? 'unknown'} of ${its.gas_limit ?? 'unknown'}`} />
            <Fact name="Price" value={`${gwei(receipt.effective_gas_price)} gwei`} />
            <Fact name="Cost" value={amount(receipt.fee, symbol)} />
            {receipt.contract_address && <Fact name="Contract" value={receipt.contract_address} />}
          </dl>
        </section>
      )}
      <section>
        <h2>Content</h2>
        <dl className="figures wide">
          <div>
            <dt>From</dt>
            <dd>
              <Copyable value={its.from} whole /> <ExplorerLink to={explorer('address', its.from)} what="Sender" />
            </dd>
          </div>
          <div>
            <dt>To</dt>
            <dd>
              {its.to === null ? (
                'contract creation'
              ) : (
                <>
                  <Copyable value={its.to} whole /> <ExplorerLink to={explorer('address', its.to)} what="Receiver" />
                </>
              )}
            </dd>
          </div>
          {its.hash !== null && (
            <div>
              <dt>Hash</dt>
              <dd>
                <Copyable value={its.hash} whole /> <ExplorerLink to={explorer('tx', its.hash)} what="Transaction" />
              </dd>
            </div>
          )}
          <Fact name="Value" value={amount(its.value, symbol)} />
          <Fact name="Accepted" value={time(its.created_at)} />
          {its.ended_at !== null && <Fact name="Ended" value={time(its.ended_at)} />}
          <Fact name="Gas limit" value={`${its.gas_limit ?? 'not estimated yet'}`} />
          <Fact name="Speed" value={its.speed ? words(its.speed.tier) : 'custom prices'} />
          {its.reference !== null && <Fact name="Reference" value={its.reference} />}
          <div>
            <dt>ID</dt>
            <dd>
              <Copyable value={its.id} whole />
            </dd>
          </div>
        </dl>
        {its.call && <Call call={its.call} />}
        {its.data !== null && <Bytes name="Data" value={its.data} />}
        <p>
          <Link to={`/sandbox/${encodeURIComponent(its.relayer_id)}/${encodeURIComponent(its.id)}`}>
            Open in the sandbox
          </Link>{' '}
          to simulate or send it again. <Link to={relayerPath(its.relayer_id)}>All transactions of the relayer</Link>
        </p>
      </section>
    </>
  )
}

const Fact = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
)

function Call({ call }: { call: NonNullable<Its['call']> }) {
  return (
    <div className="bytes">
      <h3>Call</h3>
      <code>{call.function}</code>
      {call.args.length > 0 && (
        <ol className="arguments">
          {call.args.map((value, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: arguments have no other identity, and keep their order.
            <li key={index}>
              <code>{short(typeof value === 'string' ? value : JSON.stringify(value))}</code>
            </li>
          ))}
        </ol>
      )}
    </div>
  )
}

const short = (text: string) => (text.length > shown_characters ? `${text.slice(0, shown_characters)}…` : text)

const shown_characters = 400

/** Data may have a megabyte: shows a part of it, and copies all of it. */
function Bytes({ name, value }: { name: string; value: string }) {
  const bytes = (value.length - 2) / 2
  return (
    <div className="bytes">
      <h3>
        {name} ({count(bytes)} bytes)
      </h3>
      <code>
        {value.slice(0, shown_characters)}
        {value.length > shown_characters && '…'}
      </code>
      {value.length > shown_characters && (
        <CopyButton text={value} label={`Copy all of ${name}`}>
          Copy all
        </CopyButton>
      )}
    </div>
  )
}
