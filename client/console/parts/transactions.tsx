import { useLocation } from 'wouter'
import type { Transaction, TransactionStatus } from '../../index.ts'
import type { Filter } from '../data/filter.ts'
import { count } from '../data/format.ts'
import { nothingFound } from '../data/nothing-found.ts'
import { useStatus } from '../data/overview.ts'
import { periodOf, withPeriod } from '../data/period.ts'
import { useSession } from '../data/session.tsx'
import { filterOf, max_found } from '../data/transaction-filter.ts'
import { allTransactions, csv_header, type Place, useTransactions } from '../data/transactions.ts'
import { Action } from './action.tsx'
import { Bulk } from './bulk.tsx'
import { type Choice, useChoice } from './choice.tsx'
import { Csv } from './csv.tsx'
import { Filters, SearchField } from './filters.tsx'
import { decoded, encoded, transactionName } from './links.tsx'
import { PeriodFields, periodIn } from './period.tsx'
import { Segments } from './segments.tsx'
import { SpeedUpChosen } from './speed-up-chosen.tsx'
import { TransactionList } from './transaction-list.tsx'

const one = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const keep = 'Keep them'
const groups = {
  all: [],
  unfinished: ['pending', 'sent', 'submitted', 'mined'],
  confirmed: ['confirmed'],
  failed: ['failed'],
  withdrawn: ['canceled', 'expired'],
} as const satisfies Record<string, TransactionStatus[]>
const changeable: ReadonlySet<TransactionStatus> = new Set(['pending', 'sent', 'submitted'])

/**
 * The list with its filters, which are in the page's address, so that it can be given to others. `here`: the address without them. A nonce is
 * one of a relayer.
 */
export function Transactions({
  place,
  here,
  group: named = 'all',
  find = '',
}: {
  place: Place
  here: string
  group?: string | undefined
  find?: string | undefined
}) {
  const { client, may } = useSession()
  const [, go] = useLocation()
  const typed = decoded(find)
  const { period, rest } = periodOf(typed)
  const choice = useChoice(({ id }: Transaction) => id, `${named} ${typed}`)
  const group = named in groups ? (named as keyof typeof groups) : 'all'
  const hasNonces = 'relayer_id' in place
  const show = (wanted: string, text: string) =>
    go(`${here}/${wanted}${text === '' ? '' : `/${encoded(text)}`}`, { replace: true })
  const filter: Filter = {
    ...(group !== 'all' && { status: [...groups[group]] }),
    ...filterOf(typed.trim(), hasNonces),
  }
  const found = useTransactions(place, filter).data?.pages[0]?.pagination.total_items
  return (
    <>
      <Filters apply={(form) => show(group, withPeriod(rest, periodIn(form)))}>
        <Segments
          label="Status"
          values={Object.keys(groups) as (keyof typeof groups)[]}
          value={group}
          choose={(one) => show(one, typed)}
        />
        <SearchField
          kinds={`hash, receiver, nonce, reference, metadata${hasNonces ? '' : ', relayer'} or ID`}
          hint="hash, receiver, nonce or reference"
          value={rest}
          change={(text) => show(group, withPeriod(text, period))}
        />
        <PeriodFields period={period} />
      </Filters>
      {filter.search !== undefined && found === max_found && (
        <p className="hint">
          This text finds the newest {count(max_found)} only. Type more of it, or a whole address, hash or reference:….
        </p>
      )}
      {may('send') && choice.items.length > 0 && <Chosen choice={choice} />}
      <TransactionList
        place={place}
        filter={filter}
        none={nothingFound(group, filter)}
        clear={() => show('all', '')}
        actions={
          <>
            {may('send') && hasNonces && <CancelPending relayer_id={place.relayer_id} />}
            <Csv
              name="transactions"
              what="every transaction that matches the filter"
              header={csv_header}
              pages={() => allTransactions(client, place, filter)}
            />
          </>
        }
        {...(may('send') && { choice })}
      />
    </>
  )
}

function CancelPending({ relayer_id }: { relayer_id: string }) {
  const { client } = useSession()
  const path = { relayer_id }
  const { data } = useStatus(relayer_id)
  if (!data?.pending_transactions_count) return null
  return (
    <Action
      label="Cancel all pending"
      title={`Cancel all pending of ${relayer_id}`}
      told={`The pending transactions of ${relayer_id} are being canceled.`}
      dismiss={keep}
      tone="danger"
      effect={
        <p>
          Cancels every transaction of {relayer_id} that is not mined, from the highest nonce down. Signed ones are
          replaced by transfers of 0, which cost fees.
        </p>
      }
      run={() => client.delete('/api/v1/relayers/{relayer_id}/transactions/pending', { path })}
    />
  )
}

/** What can be done with the chosen ones. From the highest nonce down, since what is canceled last needs no transfer. */
function Chosen({ choice }: { choice: Choice<Transaction> }) {
  const { client } = useSession()
  const changed = choice.items
    .filter(({ status, is_canceling }) => changeable.has(status) && !is_canceling)
    .sort((a, b) => (b.nonce ?? 0) - (a.nonce ?? 0))
  return (
    <section className="bar chosen" aria-label="Chosen transactions">
      <span>
        {count(choice.items.length)} chosen, {count(changed.length)} can be changed
      </span>
      <SpeedUpChosen choice={choice} changeable={changed} />
      <Bulk
        label="Cancel chosen"
        tone="danger"
        effect={<p>Cancels each. Signed ones are replaced by transfers of 0, which cost fees.</p>}
        choice={choice}
        items={changed}
        nameOf={transactionName}
        run={({ relayer_id, id }) => client.delete(one, { path: { relayer_id, transaction_id: id } })}
        dismiss={keep}
        did="being canceled"
      />
      <button type="button" onClick={() => choice.set([])}>
        Choose none
      </button>
    </section>
  )
}
