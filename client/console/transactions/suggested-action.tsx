import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type {
  RelayerPoliciesPatch,
  Speed,
  SpeedUpTransactionRequest,
  Transaction,
  TransactionSuggestion,
} from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Receiver } from '../components/receiver.tsx'
import { about, Copyable, RelayerLink } from '../components/values.tsx'
import { gasPrice } from '../data/format.ts'
import { useGet } from '../data/get.ts'
import { paths } from '../data/paths.ts'
import { useSession } from '../data/session.tsx'
import { cancelTo, changeIn, lackOfChange, type Operation, speedUpTo } from './change-figures.ts'
import { PriceChange } from './price-change.tsx'

interface WhileOpen {
  opened(): void
  closed(): void
}

interface SuggestedActionProps {
  suggestion: TransactionSuggestion
  /** The transaction whose page it is; absent: another page, where its buttons are not. */
  of?: Transaction
  whileOpen: WhileOpen
  /** In its place, where there is nothing to press. Absent: it stands among others, and is the first choice. */
  otherwise?: ReactNode
}

/** The button that does what the service suggests. */
export function SuggestedAction({
  suggestion: { operation, relayer_id, transaction_id, body, summary },
  of: transaction,
  whileOpen,
  otherwise,
}: SuggestedActionProps) {
  const { may, mayManageAll } = useSession()
  const id = transaction_id ?? ''
  const tone = otherwise === undefined ? 'primary' : undefined
  // The transaction's own buttons are above, and stay where they are while the suggestions change.
  const isAbove = id === transaction?.id
  const link = <Link to={paths.transaction({ relayer_id, id })}>The transaction</Link>
  switch (operation) {
    case 'updateRelayer': {
      if (!may('manage')) return otherwise
      if (!body)
        return (
          <Link to={paths.relayer(relayer_id, 'policies')} className="button">
            Open the policies
          </Link>
        )
      const change = body as { paused?: boolean; policies?: RelayerPoliciesPatch }
      const isResumed = change.paused === false
      return (
        <Action
          {...whileOpen}
          label={isResumed ? 'Resume' : 'Change the policy'}
          title={isResumed ? `Resume relayer ${relayer_id}` : `Change the policy of ${relayer_id}`}
          message={about(
            isResumed ? 'Relayer' : 'The policy of',
            <RelayerLink id={relayer_id} />,
            isResumed ? 'is resumed.' : 'is changed.',
          )}
          tone={tone}
          effect={`Relayer ${relayer_id}: ${changeText(change)}. It applies to all its transactions.`}
          run={(client) => client.relayers.update(relayer_id, change)}
        />
      )
    }
    case 'speedUpTransaction':
      if (!may('send')) return otherwise
      if (isAbove) return <span className="hint">“Speed up”</span>
      return (
        <ChangeOther
          operation={operation}
          relayer_id={relayer_id}
          id={id}
          speed={(body as SpeedUpTransactionRequest).speed ?? 'fastest'}
          whileOpen={whileOpen}
          tone={tone}
        />
      )
    case 'publishTransaction':
      if (!may('send')) return otherwise
      if (isAbove) return <span className="hint">“Publish”</span>
      return (
        <Action
          {...whileOpen}
          label="Publish it"
          tone={tone}
          effect="Gives the signed bytes to the public nodes. Everybody sees them."
          run={(client) => client.transactions.publish(relayer_id, id)}
          message={<>{link} is given to the public nodes.</>}
        >
          <ReceiverOf relayer_id={relayer_id} id={id} />
        </Action>
      )
    case 'cancelTransaction':
      if (!may('send')) return otherwise
      if (isAbove) return <span className="hint">“Cancel”</span>
      return (
        <ChangeOther
          operation={operation}
          relayer_id={relayer_id}
          id={id}
          speed="fast"
          whileOpen={whileOpen}
          tone="danger"
        />
      )
    case 'reconcileRelayerNonce':
      if (!may('send')) return otherwise
      return (
        <Action
          {...whileOpen}
          label="Repair the nonces"
          tone={tone}
          effect={`Asks every node of ${relayer_id} for its transaction count, and corrects the nonces of unsigned transactions.`}
          run={(client) => client.relayers.reconcileNonce(relayer_id, {})}
          message={({ summary }) => about('Relayer', <RelayerLink id={relayer_id} />, `is checked: ${summary}`)}
        />
      )
    case 'updateNetwork':
      return (
        <Link to={paths.networks} className="button">
          {mayManageAll ? 'Open the nodes to change them' : 'Open the nodes'}
        </Link>
      )
    case null:
      return transaction && summary.toLowerCase().includes(transaction.from.toLowerCase()) ? (
        <Copyable value={transaction.from} whole />
      ) : (
        otherwise
      )
    default:
      return otherwise
  }
}

interface ChangeOtherProps {
  operation: Operation
  relayer_id: string
  id: string
  speed: Speed
  whileOpen: WhileOpen
  tone: 'primary' | 'danger' | undefined
}

/** Speeds up or cancels another transaction than the page's. The prices are those of the moment at which the dialog was opened. */
function ChangeOther({ operation, relayer_id, id, speed, whileOpen, tone }: ChangeOtherProps) {
  const { client } = useSession()
  const asked = useMutation({ mutationFn: () => client.transactions.getExplanation(id) })
  const change = asked.data && changeIn(asked.data, operation, speed)
  const isCancellation = operation === 'cancelTransaction'
  return (
    <Action
      closed={whileOpen.closed}
      opened={() => {
        whileOpen.opened()
        asked.mutate()
      }}
      label={isCancellation ? 'Cancel it' : 'Speed up'}
      {...(isCancellation && { title: 'Cancel transaction', dismiss: 'Keep it' })}
      tone={tone}
      effect={
        isCancellation
          ? 'Replaces it with a transfer of 0 to the relayer itself with the same nonce, at most at the price shown here. If it is mined first, it stays.'
          : 'Signs the same transaction again with the same nonce, at most at the price shown here.'
      }
      lack={asked.isSuccess ? lackOfChange(change) : 'The price is not known yet.'}
      run={(client, idempotencyKey) =>
        isCancellation
          ? client.transactions.cancel(relayer_id, id, cancelTo(change))
          : client.transactions.speedUp(relayer_id, id, speedUpTo(speed, change ?? { max_fee_per_gas: null }), {
              idempotencyKey,
            })
      }
      message={
        <>
          <Link to={paths.transaction({ relayer_id, id })}>The transaction</Link>{' '}
          {isCancellation
            ? 'is being canceled. Its page shows whether it was mined first.'
            : 'is sped up. Its timeline shows what the nodes answer.'}
        </>
      }
    >
      {!isCancellation && <ReceiverOf relayer_id={relayer_id} id={id} />}
      <PriceChange of={change} relayer_id={relayer_id} />
    </Action>
  )
}

/** Of a transaction that the page does not show. */
function ReceiverOf({ relayer_id, id }: { relayer_id: string; id: string }) {
  const path = { relayer_id, transaction_id: id }
  const { data } = useGet('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path })
  return data ? <Receiver of={data} /> : null
}

function changeText({ paused, policies }: { paused?: boolean; policies?: RelayerPoliciesPatch }): string {
  if (paused !== undefined) return paused ? 'stops signing and sending' : 'signs and sends again'
  return Object.entries(policies ?? {})
    .map(([name, value]) => `${name} becomes ${name === 'gas_price_cap' ? gasPrice(String(value)) : String(value)}`)
    .join(', ')
}
