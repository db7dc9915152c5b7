import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import type {
  SendTransactionWithDataRequest,
  Speed,
  Transaction,
  TransactionExplanation,
  TransactionSuggestion,
} from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Field, Select } from '../components/fields.tsx'
import { Receiver } from '../components/receiver.tsx'
import { TransactionLink, transactionName } from '../components/values.tsx'
import { useForm, weiIn } from '../data/form.ts'
import { exactly, weiOf } from '../data/format.ts'
import { useGet } from '../data/get.ts'
import { paths } from '../data/paths.ts'
import { usePools, useSymbolOf } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { cancelTo, changeIn, lackOfChange, type Operation, speedUpTo } from './change-figures.ts'
import { PriceChange } from './price-change.tsx'

const speeds = ['average', 'fast', 'fastest'] as const

interface TransactionActionsProps {
  transaction: Transaction
  why: TransactionExplanation
  isEnded: boolean
  /** What the service suggests first. */
  suggested: TransactionSuggestion['operation']
}

/** What can be done with a transaction: until it is mined, it can be changed; its content can be simulated and sent again. */
export function TransactionActions(its: TransactionActionsProps) {
  const { may } = useSession()
  const { relayer_id, id, status } = its.transaction
  const isChangeable = may('send') && !its.isEnded && status !== 'mined'
  const weight = status === 'failed' ? ' primary' : isChangeable ? ' quiet' : ''
  return (
    <div className="buttons actions">
      {isChangeable && <Changes {...its} />}
      {(may('sign') || may('send')) && (
        <Link to={paths.sandboxOf(relayer_id, id)} className={`button${weight}`}>
          {status === 'failed' ? 'Simulate again' : 'Open in the sandbox'}
        </Link>
      )}
    </div>
  )
}

/** The changes of a transaction that is not mined. */
function Changes({ transaction, why, suggested }: TransactionActionsProps) {
  const { id, relayer_id, status, to, value } = transaction
  const [speed, setSpeed] = useState<Speed>('fastest')
  const other = useForm({ to: to ?? '', value: exactly(value) })
  // What is confirmed is the content and the prices of the moment at which a dialog was opened.
  const [opened, setOpened] = useState({ transaction, why })
  const open = () => setOpened({ transaction, why })
  const symbol = useSymbolOf(relayer_id)
  const name = transactionName(transaction)
  const link = <TransactionLink {...transaction} />
  /** What nothing could be signed for then may be possible meanwhile. */
  const offered = (operation: Operation) => {
    const change = changeIn(opened.why, operation, speed)
    return lackOfChange(change) === undefined ? change : changeIn(why, operation, speed)
  }
  const faster = offered('speedUpTransaction')
  const cancellation = offered('cancelTransaction')
  const lack = lackOfChange(faster)
  const isSame = other.values.to.trim() === (to ?? '') && weiOf(other.values.value) === value
  const price = (
    <>
      <Select label="Price" values={speeds} value={speed} onChange={({ target }) => setSpeed(target.value as Speed)} />
      <PriceChange of={faster} relayer_id={relayer_id} />
    </>
  )
  const isPrivate = transaction.submission?.public_since === null
  return (
    <>
      <Action
        label="Speed up"
        title={`Speed up ${name}`}
        tone={suggested === 'speedUpTransaction' ? 'primary' : undefined}
        effect="Signs the same transaction again with the same nonce, at a higher price: at most the one shown here. Only one version can be mined."
        lack={lack}
        opened={open}
        run={(client, idempotencyKey) => {
          const body = speedUpTo(speed, faster ?? { max_fee_per_gas: null })
          return client.transactions.speedUp(relayer_id, id, body, { idempotencyKey })
        }}
        message={<>{link} is sped up. The timeline shows what the nodes answer.</>}
      >
        <Receiver of={opened.transaction} />
        {price}
      </Action>
      <Action
        label="Replace"
        title={`Replace ${name}`}
        message={<>{link} is replaced. Its page shows which version is mined.</>}
        opened={() => {
          open()
          other.reset()
        }}
        effect="Signs a different transaction with the same nonce. Either version may be mined; this page shows which one was."
        lack={isSame ? 'Change the receiver or the value first.' : lack}
        run={async (client) =>
          client.transactions.replace(
            relayer_id,
            id,
            {
              ...contentOf(opened.transaction),
              ...priceOf(opened.transaction, faster?.max_fee_per_gas),
              speed,
              to: other.values.to.trim() || null,
              value: weiIn('value', other.values.value, symbol),
            },
            { revision: opened.transaction.revision ?? '*' },
          )
        }
      >
        <Field kind="id" label="To" {...other.bind('to')} />
        <Field kind="amount" label={`Value in ${symbol}`} {...other.bind('value')} />
        {price}
      </Action>
      {isPrivate && (
        <Action
          label="Publish"
          title={`Publish ${name}`}
          tone={suggested === 'publishTransaction' ? 'primary' : undefined}
          effect="Gives the signed bytes to the public nodes. Everybody sees them, and it cannot be taken back."
          run={(client) => client.transactions.publish(relayer_id, id)}
          message={<>{link} is given to the public nodes.</>}
        >
          <Receiver of={transaction} />
        </Action>
      )}
      <Action
        label="Cancel"
        title={`Cancel ${name}`}
        confirm="Cancel transaction"
        dismiss="Keep it"
        tone="danger"
        message={<>{link} is being canceled. Its page shows whether it was mined first.</>}
        effect="Replaces it with a transfer of 0 to the relayer itself with the same nonce, which costs a fee. An unsigned last transaction ends at once. If it is mined first, it stays as it is."
        opened={open}
        lack={lackOfChange(cancellation)}
        run={(client) => client.transactions.cancel(relayer_id, id, cancelTo(cancellation))}
      >
        <PriceChange of={cancellation} relayer_id={relayer_id} />
      </Action>
      {status === 'pending' && transaction.hash === null && <MoveActions transaction={transaction} />}
    </>
  )
}

const contentOf = ({
  to,
  value,
  data,
  gas_limit,
  access_list,
  authorization_list,
}: Transaction): SendTransactionWithDataRequest => ({
  ...{ to, value, data, gas_limit, access_list, authorization_list },
})

/** The price of a replacement, which is signed at it. */
const priceOf = ({ gas_price }: Transaction, price: string | null | undefined): SendTransactionWithDataRequest =>
  price == null ? {} : gas_price === null ? { max_fee_per_gas: price } : { gas_price: price }

/** A transaction that went through a pool, and was never signed, can go to another relayer of the pool. */
function MoveActions({ transaction }: { transaction: Transaction }) {
  const pools = usePools().data ?? []
  const own = pools.filter(({ relayers }) => relayers.some(({ relayer_id }) => relayer_id === transaction.relayer_id))
  return own.map(({ id }) => <MoveAction key={id} transaction={transaction} pool_id={id} isOnly={own.length === 1} />)
}

function MoveAction({ transaction, pool_id, isOnly }: { transaction: Transaction; pool_id: string; isOnly: boolean }) {
  const { id } = transaction
  const [, go] = useLocation()
  // One that was sent to the relayer itself is none of the pool's.
  const query = { pool_id, search: id, per_page: 1 }
  const found = useGet('/api/v1/transactions', { query })
  if (!found.data?.some((one) => one.id === id)) return null
  return (
    <Action
      label={isOnly ? 'Move' : `Move in ${pool_id}`}
      effect={`Cancels it here, where it was never signed, and accepts it again at another relayer of the pool ${pool_id}, with a new ID and nonce. Its sender changes. The page of the new transaction is shown.`}
      run={async (client, idempotencyKey) => {
        const moved = await client.pools.moveTransaction(pool_id, id, { idempotencyKey })
        go(paths.transaction(moved))
        return moved
      }}
      message={(moved) => (
        <>
          The transaction is moved to {moved.relayer_id}, as <TransactionLink {...moved} />.
        </>
      )}
    >
      <Receiver of={transaction} />
    </Action>
  )
}
