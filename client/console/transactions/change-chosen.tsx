import { useMutation } from '@tanstack/react-query'
import type { RelayerClient, Transaction } from '../../index.ts'
import { Bulk } from '../components/action.tsx'
import { errorText, Skeleton } from '../components/feedback.tsx'
import { Price } from '../components/price.tsx'
import { type Choice, type Column, Table } from '../components/table.tsx'
import { Figures, otherName, transactionName } from '../components/values.tsx'
import { count, counted, exactAmount, inCoins } from '../data/format.ts'
import { useRelayers, useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import {
  cancelTo,
  changeIn,
  lackOfChange,
  type Operation,
  type PriceChangeFigures,
  speedUpTo,
} from './change-figures.ts'
import { feesText } from './fee-totals.ts'

/** The service is asked for each before anything is sent. */
const maxChosen = 200
const askedAtOnce = 4
const shownRows = 8
const shownReasons = 20

interface Change {
  transaction: Transaction
  network: string | undefined
  figures: PriceChangeFigures
}

/** Why a transaction stays as it is. */
interface LeftOut {
  transaction: Transaction
  reason: string
}

const texts = {
  speedUpTransaction: {
    ...{ label: 'Speed up selected', title: 'Speed up', did: 'sped up', lack: 'None of these can be sped up now.' },
    tone: 'primary',
    dismiss: 'Close',
    effect:
      'Signs each again with the same nonce, at the price “fastest”. Only one version of each can be mined. None is signed above the price shown here.',
  },
  cancelTransaction: {
    ...{ label: 'Cancel selected', title: 'Cancel', did: 'being canceled', lack: 'None of these can be canceled now.' },
    tone: 'danger',
    dismiss: 'Keep them',
    effect:
      'Replaces each signed one by a transfer of 0, which costs a fee. None is signed above the price shown here.',
  },
} as const

interface ChangeChosenProps {
  operation: Operation
  choice: Choice
  /** Those that are not mined, as they are now. */
  changeable: Transaction[]
}

/** Signs the selected ones again at the highest tier, or cancels them, after it showed what each would pay. */
export function ChangeChosen({ operation, choice, changeable }: ChangeChosenProps) {
  const { client } = useSession()
  const relayers = useRelayers().data
  const { lack: none, title, ...text } = texts[operation]
  const isTooMany = changeable.length > maxChosen
  // Read once for each opening: the reader confirms these figures, and not others that came meanwhile.
  const prices = useMutation({ mutationFn: () => changesOf(client, operation, changeable) })
  const networkOf = ({ relayer_id }: Transaction) => relayers?.find(({ id }) => id === relayer_id)?.network
  const changes = (prices.data?.changes ?? []).map((found) => ({ ...found, network: networkOf(found.transaction) }))
  const left = prices.data?.left ?? []
  return (
    <Bulk
      {...text}
      title={changes.length === 0 ? text.label : `${title} ${counted(changes.length, 'transaction')}`}
      choice={choice}
      items={changes}
      idOf={({ transaction }) => transaction.id}
      nameOf={({ transaction }) => transactionName(transaction)}
      disabled={changeable.length === 0}
      opened={() => {
        prices.reset()
        if (!isTooMany) prices.mutate()
      }}
      lack={lackOf()}
      run={(client, { transaction: { relayer_id, id }, figures }) =>
        operation === 'cancelTransaction'
          ? client.transactions.cancel(relayer_id, id, cancelTo(figures))
          : client.transactions.speedUp(relayer_id, id, speedUpTo('fastest', figures))
      }
    >
      {!isTooMany && !prices.isSuccess && <Skeleton lines={Math.min(changeable.length + 1, shownRows)} as="rows" />}
      {changes.length > 0 && <Changes rows={changes} operation={operation} />}
      {left.length > 0 && <Reasons left={left} />}
    </Bulk>
  )

  function lackOf(): string | undefined {
    if (isTooMany) return `Select ${count(maxChosen)} or fewer: the price of each is shown first.`
    if (!prices.isSuccess) return 'The prices are being read.'
    return changes.length === 0 ? none : undefined
  }
}

/** Each change, and for each network its base fee and what all of them cost. */
function Changes({ rows, operation }: { rows: Change[]; operation: Operation }) {
  const symbolOf = useSymbols()
  const columns: Column<Change>[] = [
    {
      name: 'Transaction',
      by: ({ transaction }) => transactionName(transaction),
      cell: ({ transaction }) => (
        <>
          {transactionName(transaction)} <span className="hint">{otherName(transaction)}</span>
          {operation === 'speedUpTransaction' && (
            <code className="receiver">to {transaction.to ?? 'a new contract'}</code>
          )}
        </>
      ),
    },
    {
      name: 'Now',
      isNumber: true,
      cell: ({ figures: { now } }) => (now === null ? 'not signed' : <Price wei={now} />),
    },
    { name: 'Base fee, next block', isNumber: true, cell: ({ figures }) => <Price wei={figures.base_fee} /> },
    {
      name: 'New',
      isNumber: true,
      cell: ({ figures: { max_fee_per_gas: price } }) => (price === null ? 'not signed' : <Price wei={price} />),
    },
    {
      name: 'Fee',
      isNumber: true,
      cell: ({ figures, network }) => <Fees of={[figures.max_fee]} symbol={symbolOf(network)} />,
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
          [...Map.groupBy(rows, ({ network }) => network)].flatMap(([network, changes]) => [
            [
              `Fees on ${network ?? 'an unknown network'}, at most`,
              <Fees key="all" of={changes.map(({ figures }) => figures.max_fee)} symbol={symbolOf(network)} />,
            ],
            [
              `More than now on ${network ?? 'an unknown network'}, at most`,
              <strong key="more">
                <Fees of={changes.map(({ figures }) => figures.extra_fee)} symbol={symbolOf(network)} />
              </strong>,
            ],
          ]),
        )}
      />
    </>
  )
}

const Fees = ({ of, symbol }: { of: (string | null)[]; symbol: string }) => (
  <span title={feesText(of, symbol, exactAmount)}>{feesText(of, symbol)}</span>
)

function Reasons({ left }: { left: LeftOut[] }) {
  return (
    <>
      <p>{counted(left.length, 'transaction')} left out:</p>
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
}

/** What the service says of each, a few at a time. What no block would include is left out, with the reason. */
async function changesOf(client: RelayerClient, operation: Operation, transactions: Transaction[]) {
  const changes: Pick<Change, 'transaction' | 'figures'>[] = []
  const left: LeftOut[] = []
  for (let from = 0; from < transactions.length; from += askedAtOnce) {
    const few = transactions.slice(from, from + askedAtOnce)
    const answers = await Promise.allSettled(few.map(({ id }) => client.transactions.getExplanation(id)))
    for (const [index, answer] of answers.entries()) {
      const transaction = few[index] as Transaction
      if (answer.status === 'rejected') {
        left.push({ transaction, reason: errorText(answer.reason) })
        continue
      }
      const figures = changeIn(answer.value, operation, 'fastest')
      const isOffered = figures && figures.is_mineable !== false && lackOfChange(figures) === undefined
      if (isOffered) changes.push({ transaction, figures })
      else left.push({ transaction, reason: inCoins(figures?.reason ?? `it is ${answer.value.status} now`, 'coins') })
    }
  }
  return { changes, left }
}
