import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { SendTransactionRequest, Speed, Transaction } from '../../index.ts'
import { useForm, weiIn } from '../data/form.ts'
import { exactly, weiOf } from '../data/format.ts'
import { usePools, useSymbolOf } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { transactionPath } from './links.tsx'
import { Options } from './options.tsx'
import { PriceChange } from './price-change.tsx'
import { SubmissionFields, submission_start, submissionOf, submissionText } from './submission.tsx'

const path_of_one = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
/** Of a transfer without data, on most chains. */
const speeds = ['average', 'fast', 'fastest'] as const

/** The actions on a transaction that is not mined. */
export function TransactionActions({
  transaction,
  isEnded,
  hasRemedy,
}: {
  transaction: Transaction
  isEnded: boolean
  /** Something else helps first: a suggested action, or blocks of the chain. */
  hasRemedy: boolean
}) {
  const { client, may } = useSession()
  const { id, relayer_id, status, to, value, data, gas_limit, nonce, access_list, authorization_list } = transaction
  const [speed, setSpeed] = useState<Speed>('fastest')
  const [receiver, setReceiver] = useState(to ?? '')
  const [amount, setAmount] = useState(exactly(value))
  const way = useForm(submission_start)
  const symbol = useSymbolOf(relayer_id)
  if (!may('send') || isEnded || status === 'mined') return null
  const path = { relayer_id, transaction_id: id }
  const name = nonce === null ? 'transaction' : `nonce ${nonce}`
  const link = <Link to={transactionPath(transaction)}>{nonce === null ? 'The transaction' : `Nonce ${nonce}`}</Link>
  const same: SendTransactionRequest = { to, value, data, gas_limit, access_list, authorization_list }
  const released = submissionOf(way.values)
  const faster = { ...same, speed, ...(released && { submission: released }) }
  const { submission } = transaction
  const release = submission?.public_since === null && (
    <SubmissionFields bind={way.bind} none={`stays ${submissionText(submission)}`} only={['public']} />
  )
  const isSame = receiver.trim() === (to ?? '') && weiOf(amount) === value
  const replace = (body: SendTransactionRequest) => client.put(path_of_one, { path, body })
  return (
    <div className="buttons actions">
      <Action
        label="Speed up"
        title={`Speed up ${name}`}
        {...(!hasRemedy && { tone: 'primary' as const })}
        effect={
          <p>Signs the same transaction again with nonce {nonce}, at a higher price. Only one version can be mined.</p>
        }
        run={() => replace(faster)}
        told={<>{link} is sped up. The timeline shows what the nodes answer.</>}
      >
        <SpeedChoice speed={speed} choose={setSpeed} />
        {release}
        <PriceChange of={transaction} body={faster} />
      </Action>
      <Action
        label="Replace"
        title={`Replace ${name}`}
        told={<>{link} is replaced. Its page shows which version is mined.</>}
        opened={() => {
          setReceiver(to ?? '')
          setAmount(exactly(value))
        }}
        effect={
          <p>
            Signs a different transaction with nonce {nonce}. Either version may be mined; this page shows which one
            was.
          </p>
        }
        lack={isSame ? 'Change the receiver or the value first.' : undefined}
        run={async () => replace({ ...faster, to: receiver.trim() || null, value: weiIn('value', amount, symbol) })}
      >
        <label>
          To
          <input name="to" value={receiver} spellCheck={false} onChange={(event) => setReceiver(event.target.value)} />
        </label>
        <label>
          Value in {symbol}
          <input name="value" inputMode="decimal" value={amount} onChange={(event) => setAmount(event.target.value)} />
        </label>
        <SpeedChoice speed={speed} choose={setSpeed} />
        {release}
        <PriceChange of={transaction} body={faster} />
      </Action>
      <Action
        label="Cancel"
        title={`Cancel ${name}`}
        confirm="Cancel transaction"
        dismiss="Keep it"
        tone="danger"
        told={<>{link} is being canceled. Its page shows whether it was mined first.</>}
        effect={
          <p>
            Replaces it with a transfer of 0 to the relayer itself with nonce {nonce}, which costs a fee. An unsigned
            last transaction ends at once. If it is mined first, it stays as it is.
          </p>
        }
        run={() => client.delete(path_of_one, { path })}
      >
        {transaction.hash !== null && (
          <PriceChange of={transaction} body={{ to: transaction.from, value: '0', speed: 'fast' }} isOther />
        )}
      </Action>
      {status === 'pending' && transaction.hash === null && <Moves transaction={transaction} />}
    </div>
  )
}

/** A transaction that was never signed can go to another relayer of a pool. */
function Moves({ transaction: { id, relayer_id } }: { transaction: Transaction }) {
  const { client } = useSession()
  const [, go] = useLocation()
  const pools = usePools()
  const its = pools.data?.filter(({ relayers }) => relayers.some((one) => one.relayer_id === relayer_id)) ?? []
  return its.map((pool) => (
    <Action
      key={pool.id}
      label={its.length === 1 ? 'Move' : `Move in ${pool.id}`}
      told={({ relayer_id: next, id: moved }) => (
        <>
          The transaction is moved to {next}, as{' '}
          <Link to={transactionPath({ relayer_id: next, id: moved })}>this one</Link>.
        </>
      )}
      effect={
        <p>
          Cancels it here, where it was never signed, and accepts it again at another relayer of the pool {pool.id},
          with a new ID and nonce. Its sender changes. The page of the new transaction is shown.
        </p>
      }
      run={async () => {
        const path = { pool_id: pool.id, transaction_id: id }
        const { data } = await client.post('/api/v1/pools/{pool_id}/transactions/{transaction_id}/move', { path })
        go(transactionPath(data))
        return data
      }}
    />
  ))
}

const SpeedChoice = ({ speed, choose }: { speed: Speed; choose(speed: Speed): void }) => (
  <label>
    Price
    <select value={speed} onChange={(event) => choose(event.target.value as Speed)}>
      <Options of={speeds} />
    </select>
  </label>
)
