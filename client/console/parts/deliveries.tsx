import { useState } from 'react'
import type { Delivery, DeliveryAttempt, DeliveryStatus } from '../../index.ts'
import { count, words } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { Badge } from './badge.tsx'
import { RelayerLink, TransactionLink } from './links.tsx'
import { Age, RowTime, Until } from './moment.tsx'
import { type Column, Table } from './table.tsx'

const one = '/api/v1/notifications/{notification_id}'

/** The deliveries of a webhook with the responses; each can be sent again. */
export function Deliveries({
  rows,
  path,
  isFailing,
}: {
  rows: Delivery[]
  path: { notification_id: string }
  /** No attempt of the webhook has succeeded since a time: those that were never sent wait for the first success. */
  isFailing: boolean
}) {
  const columns: Column<Delivery>[] = [
    {
      name: 'Event',
      isWhole: true,
      cell: ({ event, sequence }) => (
        <>
          {words(event)} <span className="hint">#{count(sequence)}</span>
        </>
      ),
    },
    { name: 'Status', isBeside: true, cell: (its) => <Badge state={its.status} /> },
    { name: 'About', isWhole: true, isPlain: true, cell: (its) => <About its={its} /> },
    { name: 'Attempts', isWhole: true, isPlain: true, cell: ({ attempts }) => <Attempts attempts={attempts} /> },
    {
      name: 'Next attempt',
      isWhole: true,
      isSpare: true,
      cell: ({ status: state, next_attempt_at: at, attempts }) =>
        at === null || state !== 'pending' ? null : isFailing && attempts.length === 0 ? (
          <span title="The notification fails: one delivery is repeated, and the others are sent after its first success.">
            after success
          </span>
        ) : (
          <Until at={at} />
        ),
    },
    { name: 'Created', isWhole: true, isPlain: true, cell: ({ created_at }) => <Age of={created_at} /> },
    { name: '', cell: (delivery) => <Resend delivery={delivery} path={path} /> },
  ]
  return <Table of="deliveries" rows={rows} columns={columns} idOf={({ id }) => id} isPart isShort />
}

/** A deleted relayer has no page, and a removed transaction neither. */
function About({ its: { relayer_id, transaction_id, nonce } }: { its: Delivery }) {
  if (relayer_id === null) return null
  if (transaction_id === null) return <RelayerLink id={relayer_id} />
  return <TransactionLink relayer_id={relayer_id} id={transaction_id} nonce={nonce} />
}

/** The path has the id of the notification, which each delivery has too. */
function Resend({
  delivery: { id, status, sequence },
  path,
}: {
  delivery: Delivery
  path: { notification_id: string }
}) {
  const { client } = useSession()
  // The delivery may end meanwhile: an open dialog stays as it is.
  const [held, setHeld] = useState<DeliveryStatus>()
  const hold = { opened: () => setHeld(status), closed: () => setHeld(undefined) }
  const isPending = (held ?? status) === 'pending'
  return (
    <div className="buttons again" title={isPending ? 'Retry now' : 'Redeliver'}>
      {isPending ? (
        <Action
          {...hold}
          label="Retry now"
          title={`Retry #${count(sequence)} now`}
          effect={
            <p>
              Makes it due now, with every other delivery that waits: earlier events of the same transaction are sent
              first. The receiver gets the same ID and the same bytes.
            </p>
          }
          run={() => client.post(`${one}/deliveries/retry`, { path })}
          told={`Delivery #${count(sequence)} is retried now. Its next attempt is listed with the response.`}
        />
      ) : (
        <Action
          {...hold}
          label="Redeliver"
          title={`Redeliver #${count(sequence)}`}
          effect={
            <p>
              Sends this event again and restarts its retry schedule. The receiver gets the same ID and the same bytes.
            </p>
          }
          run={() => client.post(`${one}/deliveries/{delivery_id}/redeliver`, { path: { ...path, delivery_id: id } })}
          told={`Delivery #${count(sequence)} is redelivered.`}
        />
      )}
    </div>
  )
}

export const answerText = ({ status, error }: Pick<DeliveryAttempt, 'status' | 'error'>) => error ?? `HTTP ${status}`

function Attempts({ attempts }: { attempts: DeliveryAttempt[] }) {
  const last = attempts.at(-1)
  if (!last) return <span className="hint">not sent yet</span>
  return (
    <details>
      <summary title={`${count(attempts.length)} ${attempts.length === 1 ? 'attempt' : 'attempts'}`}>
        {answerText(last)}
        {attempts.length > 1 && ` (${count(attempts.length)})`}
      </summary>
      <ol>
        {attempts.map(({ number, at, duration_ms, status: answered, error, answer }) => (
          <li key={number}>
            <RowTime at={at} />, {count(duration_ms)} ms: {answerText({ status: answered, error })}{' '}
            {answer && <code>{answer}</code>}
          </li>
        ))}
      </ol>
    </details>
  )
}
