import { Link } from 'wouter'
import type { Relayer, SendTransactionRequest } from '../../index.ts'
import { amount, count } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { Figure } from './figure.tsx'
import { relayerPath, transactionPath } from './links.tsx'
import { submissionText } from './submission.tsx'

/** Sends the transaction of the sandbox, after it showed what is sent. `asUsual`: the submission of one that names none. */
export function SendIt({
  relayer_id,
  relayer,
  transaction,
  symbol,
  asUsual,
  isReady,
}: {
  relayer_id: string
  relayer: Relayer | undefined
  transaction: SendTransactionRequest
  symbol: string
  asUsual: string
  isReady(): boolean
}) {
  const { client } = useSession()
  const { to, value = '0', data, call, submission } = transaction
  return (
    <Action
      label="Send it"
      tone="danger"
      isReady={isReady}
      effect={
        <>
          <p>It is signed and sent now, and costs a fee.</p>
          <dl className="figures wide">
            <Figure name="From">
              {relayer_id} ({relayer?.address ?? 'unknown address'})
            </Figure>
            <Figure name="Network">{relayer?.network ?? 'unknown'}</Figure>
            <Figure name="To">{to ?? 'nobody: it creates a contract'}</Figure>
            <Figure name="Value">{amount(value.toString(), symbol)}</Figure>
            <Figure name="Submission">{submission ? submissionText(submission) : asUsual}</Figure>
            {call ? (
              <Figure name="Calls">
                {call.function} with {JSON.stringify(call.args)}
              </Figure>
            ) : (
              <Figure name="Data">{bytesOf(data ?? '')}</Figure>
            )}
          </dl>
        </>
      }
      run={async (key) => {
        const header = { 'Idempotency-Key': key }
        const path = { relayer_id }
        return (await client.post('/api/v1/relayers/{relayer_id}/transactions', { path, header, body: transaction }))
          .data
      }}
      done={({ id, nonce }) => (
        <>
          <Link to={transactionPath({ relayer_id, id })}>
            {nonce === null ? 'The transaction' : `Nonce ${nonce}`} of {relayer_id}
          </Link>{' '}
          is accepted. See <Link to={relayerPath(relayer_id)}>all of {relayer_id}</Link>.
        </>
      )}
    />
  )
}

const bytesOf = (data: string): string => {
  const digits = data.replace(/^0x/, '')
  return digits === '' ? 'none' : `${count(digits.length / 2)} bytes (${digits.slice(0, 8)}…)`
}
