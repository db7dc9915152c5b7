import { useMutation } from '@tanstack/react-query'
import type { RelayerClient, Transaction } from '../../index.ts'
import { Bulk } from '../components/action.tsx'
import { errorText, Skeleton } from '../components/feedback.tsx'
import { type Choice, type Column, column, Table } from '../components/table.tsx'
import { Figures, Price, transactionName } from '../components/values.tsx'
import { amount, count, exactAmount, gwei, words } from '../data/format.ts'
import { useRelayers, useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { again, isAboveCap, type PriceFigures, priceChange, speedUpTo } from './price-change.tsx'

/** The service is asked twice for each before anything is sent. */
const maxChosen = 200
const askedAtOnce = 4
const shownRows = 8
const shownReasons = 20

interface Change {
  transaction: Transaction
  network: string | undefined
  change: PriceFigures
}

/** Why a transaction stays as it is. */
interface LeftOut {
  transaction: Transaction
  reason: string
}

/** Signs the chosen ones again at the highest tier, after it showed what each would pay. `changeable`: those that are not mined. */
export function SpeedUpChosen({ choice, changeable }: { choice: Choice<Transaction>; changeable: Transaction[] }) {
  const { client } = useSession()
  const relayers = useRelayers().data
  const isTooMany = changeable.length > maxChosen
  // Read once for each opening: the reader confirms these figures, and not others that came meanwhile.
  const prices = useMutation({ mutationFn: () => changesOf(client, changeable) })
  const networkOf = ({ relayer_id }: Transaction) => relayers?.find(({ id }) => id === relayer_id)?.network
  const changes = (prices.data?.changes ?? []).map((found) => ({ ...found, network: networkOf(found.transaction) }))
  const left = prices.data?.left ?? []
  const figuresOf = ({ id }: Transaction) => (changes.find(({ transaction }) => transaction.id === id) as Change).change
  return (
    <Bulk
      label="Speed up chosen"
      title={changes.length === 0 ? 'Speed up chosen' : `Speed up ${transactionsText(changes.length)}`}
      tone="primary"
      effect="Signs each again with its nonce at the price “fastest”. Only one version of each can be mined. None is signed above the price shown here."
      choice={choice}
      items={changes.map(({ transaction }) => transaction)}
      disabled={changeable.length === 0}
      opened={() => {
        prices.reset()
        if (!isTooMany) prices.mutate()
      }}
      lack={lackOf()}
      nameOf={transactionName}
      run={(client, its) => client.transactions.speedUp(its.relayer_id, its.id, speedUpTo('fastest', figuresOf(its)))}
      did="sped up"
    >
      {!isTooMany && !prices.isSuccess && <Skeleton lines={Math.min(changeable.length + 1, shownRows)} as="rows" />}
      {changes.length > 0 && <Changes rows={changes} />}
      {left.length > 0 && <Reasons left={left} />}
    </Bulk>
  )

  function lackOf(): string | undefined {
    if (isTooMany) return `Choose ${count(maxChosen)} or fewer: the price of each is shown before.`
    if (!prices.isSuccess) return 'The prices are being read.'
    return changes.length === 0 ? 'None of them can be sped up now.' : undefined
  }
}

/** Each change, and for each network what all of them cost more. */
function Changes({ rows }: { rows: Change[] }) {
  const symbolOf = useSymbols()
  const columns: Column<Change>[] = [
    column('Transaction', ({ transaction }) => transactionName(transaction), { isWhole: true }),
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
        idOf={({ transaction }) => transaction.id}
        per_page={shownRows}
      />
      <Figures
        of={Object.fromEntries(
          [...Map.groupBy(rows, ({ network }) => network)].map(([network, changes]) => [
            `More on ${network ?? 'an unknown network'}, at most`,
            <strong key={network}>
              <Amount
                wei={changes.reduce((sum, { change }) => sum + (change.more ?? 0n), 0n)}
                symbol={symbolOf(network)}
              />
            </strong>,
          ]),
        )}
      />
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
      {left.slice(0, shownReasons).map(({ transaction, reason }) => (
        <li key={transaction.id}>
          <strong>{transactionName(transaction)}</strong>: {reason}
        </li>
      ))}
      {left.length > shownReasons && <li>and {count(left.length - shownReasons)} more</li>}
    </ul>
  </>
)

const transactionsText = (number: number) => `${count(number)} ${number === 1 ? 'transaction' : 'transactions'}`

/** What the service says of each, a few at a time. */
async function changesOf(client: RelayerClient, transactions: Transaction[]) {
  const changes: Pick<Change, 'transaction' | 'change'>[] = []
  const left: LeftOut[] = []
  for (let from = 0; from < transactions.length; from += askedAtOnce) {
    const few = transactions.slice(from, from + askedAtOnce)
    const answers = await Promise.allSettled(few.map((one) => priceChange(client, one, again(one, 'fastest'))))
    for (const [index, answer] of answers.entries()) {
      const transaction = few[index] as Transaction
      if (answer.status === 'rejected') left.push({ transaction, reason: errorText(answer.reason) })
      else {
        const reason = reasonToStay(answer.value)
        if (reason === undefined) changes.push({ transaction, change: answer.value })
        else left.push({ transaction, reason })
      }
    }
  }
  return { changes, left }
}

const openStates: ReadonlySet<string> = new Set(['pending', 'sent', 'submitted'])

function reasonToStay(change: PriceFigures): string | undefined {
  const { status, price, price_cap, next } = change
  if (!openStates.has(status)) return `it is ${words(status)} now`
  if (next === null) return 'no node of its network tells a price'
  if (isAboveCap(change))
    return `nodes would take ${gwei(next.toString())} gwei, and the price cap is ${gwei(`${price_cap}`)} gwei`
  return price !== null && next <= price ? `its price would stay at ${gwei(price.toString())} gwei` : undefined
}
