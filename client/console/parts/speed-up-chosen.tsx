import { useMutation } from '@tanstack/react-query'
import type { RelayerClient, SendTransactionRequest, Transaction } from '../../index.ts'
import { amount, count, exactAmount, gwei, words } from '../data/format.ts'
import { useRelayerIds, useSymbols } from '../data/overview.ts'
import { isAboveCap, type PriceChange, priceChange } from '../data/price-change.ts'
import { useSession } from '../data/session.tsx'
import { Bulk } from './bulk.tsx'
import type { Choice } from './choice.tsx'
import { errorText, Skeleton } from './feedback.tsx'
import { Figure } from './figure.tsx'
import { transactionName } from './links.tsx'
import { Price } from './price.tsx'
import { type Column, Table } from './table.tsx'

const one = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
/** The service is asked twice for each before anything is sent. */
const max_chosen = 200
const asked_at_once = 4
const shown_rows = 8
const shown_reasons = 20

interface Change {
  its: Transaction
  network: string | undefined
  change: PriceChange
}

/** Why a transaction stays as it is. */
interface LeftOut {
  its: Transaction
  reason: string
}

/** Signs the chosen ones again at the highest tier, after it showed what each would pay. `changeable`: those that are not mined. */
export function SpeedUpChosen({ choice, changeable }: { choice: Choice<Transaction>; changeable: Transaction[] }) {
  const { client } = useSession()
  const relayers = useRelayerIds().data
  const isTooMany = changeable.length > max_chosen
  // Read once for each opening: the reader confirms these figures, and not others that came meanwhile.
  const prices = useMutation({ mutationFn: () => changesOf(client, changeable) })
  const networkOf = ({ relayer_id }: Transaction) => relayers?.find(({ id }) => id === relayer_id)?.network
  const changes = (prices.data?.changes ?? []).map((found) => ({ ...found, network: networkOf(found.its) }))
  const left = prices.data?.left ?? []
  return (
    <Bulk
      label="Speed up chosen"
      title={changes.length === 0 ? 'Speed up chosen' : `Speed up ${transactionsText(changes.length)}`}
      tone="primary"
      effect={
        <p>
          Signs each again with its nonce at the price “fastest”. Only one version of each can be mined. Prices and
          costs are the highest possible.
        </p>
      }
      choice={choice}
      items={changes.map(({ its }) => its)}
      disabled={changeable.length === 0}
      opened={() => {
        prices.reset()
        if (!isTooMany) prices.mutate()
      }}
      lack={lackOf()}
      nameOf={transactionName}
      run={(its) =>
        client.put(one, { path: { relayer_id: its.relayer_id, transaction_id: its.id }, body: fastest(its) })
      }
      did="sped up"
    >
      {!isTooMany && !prices.isSuccess && <Skeleton lines={Math.min(changeable.length + 1, shown_rows)} as="rows" />}
      {changes.length > 0 && <Changes rows={changes} />}
      {left.length > 0 && <Reasons left={left} />}
    </Bulk>
  )

  function lackOf(): string | undefined {
    if (isTooMany) return `Choose ${count(max_chosen)} or fewer: the price of each is shown before.`
    if (!prices.isSuccess) return 'The prices are being read.'
    return changes.length === 0 ? 'None of them can be sped up now.' : undefined
  }
}

/** Each change, and for each network what all of them cost more. */
function Changes({ rows }: { rows: Change[] }) {
  const symbolOf = useSymbols()
  const columns: Column<Change>[] = [
    {
      name: 'Transaction',
      isWhole: true,
      by: ({ its }) => transactionName(its),
      cell: ({ its }) => transactionName(its),
    },
    {
      name: 'Now',
      isNumber: true,
      cell: ({ change: { price } }) => (price === null ? 'not signed' : <Price wei={price} />),
    },
    { name: 'New', isNumber: true, cell: ({ change: { next } }) => <Price wei={next} /> },
    {
      name: 'More',
      isNumber: true,
      cell: ({ change: { more }, network }) => <Amount wei={more} symbol={symbolOf(network)} />,
    },
  ]
  return (
    <>
      <Table
        of="price changes"
        sorted="Transaction"
        rows={rows}
        columns={columns}
        idOf={({ its }) => its.id}
        per_page={shown_rows}
      />
      <dl className="figures">
        {[...Map.groupBy(rows, ({ network }) => network)].map(([network, its]) => (
          <Figure key={network ?? ''} name={`More on ${network ?? 'an unknown network'}, at most`}>
            <strong>
              <Amount wei={its.reduce((sum, { change }) => sum + (change.more ?? 0n), 0n)} symbol={symbolOf(network)} />
            </strong>
          </Figure>
        ))}
      </dl>
    </>
  )
}

function Amount({ wei, symbol }: { wei: bigint | null; symbol: string }) {
  if (wei === null) return 'unknown'
  return <span title={exactAmount(wei.toString(), symbol)}>{amount(wei.toString(), symbol)}</span>
}

const Reasons = ({ left }: { left: LeftOut[] }) => (
  <>
    <p>{transactionsText(left.length)} left out:</p>
    <ul className="plain">
      {left.slice(0, shown_reasons).map(({ its, reason }) => (
        <li key={its.id}>
          <strong>{transactionName(its)}</strong>: {reason}
        </li>
      ))}
      {left.length > shown_reasons && <li>and {count(left.length - shown_reasons)} more</li>}
    </ul>
  </>
)

const transactionsText = (number: number) => `${count(number)} ${number === 1 ? 'transaction' : 'transactions'}`

/** The same transaction at the highest tier. */
const fastest = ({
  to,
  value,
  data,
  gas_limit,
  access_list,
  authorization_list,
}: Transaction): SendTransactionRequest => ({
  ...{ to, value, data, gas_limit, access_list, authorization_list },
  speed: 'fastest',
})

/** What the service says of each, a few at a time. */
async function changesOf(client: RelayerClient, transactions: Transaction[]) {
  const changes: Pick<Change, 'its' | 'change'>[] = []
  const left: LeftOut[] = []
  for (let from = 0; from < transactions.length; from += asked_at_once) {
    const few = transactions.slice(from, from + asked_at_once)
    const answers = await Promise.allSettled(few.map((its) => priceChange(client, its, fastest(its))))
    for (const [index, answer] of answers.entries()) {
      const its = few[index] as Transaction
      if (answer.status === 'rejected') left.push({ its, reason: errorText(answer.reason) })
      else {
        const reason = reasonToStay(answer.value)
        if (reason === undefined) changes.push({ its, change: answer.value })
        else left.push({ its, reason })
      }
    }
  }
  return { changes, left }
}

const open_states: ReadonlySet<string> = new Set(['pending', 'sent', 'submitted'])

function reasonToStay(change: PriceChange): string | undefined {
  const { status, price, price_cap, next } = change
  if (!open_states.has(status)) return `it is ${words(status)} now`
  if (next === null) return 'no node of its network tells a price'
  if (isAboveCap(change))
    return `nodes would take ${gwei(next.toString())} gwei, and the price cap is ${gwei(`${price_cap}`)} gwei`
  return price !== null && next <= price ? `its price would stay at ${gwei(price.toString())} gwei` : undefined
}
