import { useState } from 'react'
import { Link } from 'wouter'
import type { NonceState, Relayer, Transaction } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Loaded } from '../components/feedback.tsx'
import { Field } from '../components/fields.tsx'
import { Badge, Figures, stateText, TransactionState, useTicks } from '../components/values.tsx'
import { useForm } from '../data/form.ts'
import { words } from '../data/format.ts'
import { useGet } from '../data/get.ts'
import { paths } from '../data/paths.ts'
import { useSession } from '../data/session.tsx'

const options = { pollMs: 3_000 }
const shownBefore = 3
const maxShown = 60

/** The nonces between the chain's count and the service's, the transaction of each, and the gaps. */
export function Nonces({ relayer: { id: relayerId } }: { relayer: Relayer }) {
  const { may } = useSession()
  const path = { relayer_id: relayerId }
  const { values, bind } = useForm({ next_nonce: '' })
  const [restarted, setRestarted] = useState(false)
  const nonce = useGet('/api/v1/relayers/{relayer_id}/nonce', { path }, options)
  const from = Math.max(0, (nonce.data?.chain_latest_nonce ?? nonce.data?.next_nonce ?? 0) - shownBefore)
  const query = { nonce_from: from, nonce_to: from + maxShown - 1, per_page: maxShown }
  const holders = useGet(
    '/api/v1/relayers/{relayer_id}/transactions/',
    { path, query },
    { ...options, isEnabled: nonce.data !== undefined, keepsPrevious: true },
  )
  return (
    <Loaded query={nonce}>
      {(state) => (
        <>
          <div className="bar">
            <p className="summary stated">
              <Badge state={stepOf(state)} /> <span>{state.summary}</span>
            </p>
            {may('send') && (
              <Action
                label="Repair the nonces"
                tone={state.status === 'in_step' ? undefined : 'primary'}
                effect="Asks every node for the transaction count of the address. If a majority reports a higher one, the service follows it, and unsigned transactions get new nonces."
                run={(client) =>
                  client.relayers.reconcileNonce(relayerId, {
                    ...(values.next_nonce !== '' && { next_nonce: Number(values.next_nonce) }),
                    ...(restarted && { chain_restarted: true }),
                  })
                }
                done={({ summary }) => summary}
              >
                <Field
                  label="Transaction count from a trusted source (optional)"
                  inputMode="numeric"
                  pattern="[0-9]{0,15}"
                  {...bind('next_nonce')}
                />
                <label className="inline">
                  <input type="checkbox" checked={restarted} onChange={(event) => setRestarted(event.target.checked)} />
                  The test chain was reset: discard the nonces of the previous chain
                </label>
              </Action>
            )}
          </div>
          <Figures
            of={{
              'Next nonce on chain': state.chain_latest_nonce ?? 'no node responds',
              'Next nonce in the mempool': state.chain_pending_nonce ?? 'unknown',
              'Next nonce of the service': state.next_nonce,
              Gaps: state.gaps.length === 0 ? 'none' : state.gaps.slice(0, 20).join(', '),
            }}
          />
          {state.blocking_transaction && (
            <p>
              Nonce {state.blocking_transaction.nonce} blocks the rest ({words(state.blocking_transaction.wait_reason)}
              ):{' '}
              <Link to={paths.transaction({ relayer_id: relayerId, id: state.blocking_transaction.transaction_id })}>
                reason and remedy
              </Link>
            </p>
          )}
          <Picture state={state} holders={holders.data ?? []} from={from} />
        </>
      )}
    </Loaded>
  )
}

/** Green is said only when both counts are equal. */
const stepOf = ({ status, blocking_transaction, chain_latest_nonce, next_nonce }: NonceState): string => {
  if (status !== 'in_step' || chain_latest_nonce === next_nonce) return status
  return blocking_transaction ? 'blocked' : 'unfinished'
}

/** What a nonce without a transaction is; the cell itself has the word only. */
const meanings = {
  gap: 'a gap: no transaction has it, and later ones wait for it',
  next: 'the next transaction gets it',
  elsewhere: 'used by a transaction that this service did not send',
  free: 'no transaction has it',
}

/** Cells of one size. The title of each says the rest. */
function Picture({ state, holders, from }: { state: NonceState; holders: Transaction[]; from: number }) {
  useTicks()
  const byNonce = new Map(holders.map((its) => [its.nonce, its]))
  const { chain_latest_nonce, next_nonce, gaps } = state
  const end = Math.min(Math.max(next_nonce, chain_latest_nonce ?? 0) + 1, from + maxShown)
  const nonces = Array.from({ length: Math.max(0, end - from) }, (_, index) => from + index)
  const withoutTransaction = (nonce: number): keyof typeof meanings => {
    if (gaps.includes(nonce)) return 'gap'
    if (nonce >= next_nonce) return 'next'
    return chain_latest_nonce !== null && nonce < chain_latest_nonce ? 'elsewhere' : 'free'
  }
  return (
    <>
      <ol className="nonces" aria-label="Nonces">
        {nonces.map((nonce) => {
          const its = byNonce.get(nonce)
          const word = withoutTransaction(nonce)
          const said = its ? stateText(its) : meanings[word]
          const isNext = nonce === chain_latest_nonce
          return (
            <li
              key={nonce}
              className={isNext ? 'chain' : undefined}
              title={isNext ? `${said}; the next on chain` : said}
            >
              {its ? (
                <Link to={paths.transaction(its)}>
                  <strong>{nonce}</strong>
                  <TransactionState transaction={its} />
                </Link>
              ) : (
                <>
                  <strong>{nonce}</strong>
                  <Badge state={word} />
                </>
              )}
            </li>
          )
        })}
      </ol>
      {chain_latest_nonce !== null && <p className="hint">Framed: the next nonce on chain.</p>}
    </>
  )
}
