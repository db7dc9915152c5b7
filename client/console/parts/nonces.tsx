import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { NonceState, Relayer, Transaction } from '../../index.ts'
import { words } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { Badge } from './badge.tsx'
import { Loaded } from './feedback.tsx'
import { Figure } from './figure.tsx'
import { transactionPath } from './links.tsx'
import { useTicks } from './moment.tsx'
import { stateText, TransactionState } from './transaction-state.tsx'

const poll_ms = 3_000
const before = 3
const max_shown = 60
const base = '/api/v1/relayers/{relayer_id}'

/** The nonces between the chain's count and the service's, the transaction of each, and the gaps. */
export function Nonces({ relayer }: { relayer: Relayer }) {
  const { client, may } = useSession()
  const path = { relayer_id: relayer.id }
  const [stated, setStated] = useState('')
  const [restarted, setRestarted] = useState(false)
  const nonce = useQuery({
    queryKey: ['nonce', relayer.id],
    queryFn: async ({ signal }) => (await client.get(`${base}/nonce`, { path, signal })).data,
    refetchInterval: poll_ms,
  })
  const from = Math.max(0, (nonce.data?.chain_latest ?? nonce.data?.next_nonce ?? 0) - before)
  const query = { nonce_from: from, nonce_to: from + max_shown - 1, per_page: max_shown }
  const holders = useQuery({
    queryKey: ['holders', relayer.id, from],
    queryFn: async ({ signal }) => (await client.get(`${base}/transactions/`, { path, query, signal })).data,
    refetchInterval: poll_ms,
    enabled: nonce.data !== undefined,
    placeholderData: (data) => data,
  })
  return (
    <Loaded query={nonce}>
      {(state) => (
        <>
          <div className="bar">
            <p className="summary">
              <Badge state={stepOf(state)} /> {state.explanation}
            </p>
            {may('send') && (
              <Action
                label="Repair the nonces"
                tone={state.status === 'in_step' ? undefined : 'primary'}
                effect={
                  <p>
                    Asks every node for the transaction count of the address. If a majority reports a higher one, the
                    service follows it, and unsigned transactions get new nonces.
                  </p>
                }
                run={() =>
                  client.post(`${base}/nonce/heal`, {
                    path,
                    body: {
                      ...(stated !== '' && { next_nonce: Number(stated) }),
                      ...(restarted && { chain_restarted: true }),
                    },
                  })
                }
                done="The nonces are repaired: they agree with what the nodes report."
              >
                <label>
                  Transaction count from a trusted source (optional)
                  <input
                    inputMode="numeric"
                    pattern="[0-9]{0,15}"
                    value={stated}
                    onChange={(event) => setStated(event.target.value)}
                  />
                </label>
                <label className="inline">
                  <input type="checkbox" checked={restarted} onChange={(event) => setRestarted(event.target.checked)} />
                  The test chain was reset: discard the nonces of the previous chain
                </label>
              </Action>
            )}
          </div>
          <dl className="figures">
            <Figure name="Next nonce on chain">{state.chain_latest ?? 'no node responds'}</Figure>
            <Figure name="Including pending">{state.chain_pending ?? 'unknown'}</Figure>
            <Figure name="Next nonce of the service">{state.next_nonce}</Figure>
            <Figure name="Gaps">{state.gaps.length === 0 ? 'none' : state.gaps.slice(0, 20).join(', ')}</Figure>
          </dl>
          {state.blocking && (
            <p>
              Nonce {state.blocking.nonce} blocks the rest ({words(state.blocking.waiting_for)}):{' '}
              <Link to={transactionPath({ relayer_id: relayer.id, id: state.blocking.transaction_id })}>
                see the reason and the remedy
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
const stepOf = ({ status, blocking, chain_latest, next_nonce }: NonceState): string => {
  if (status !== 'in_step' || chain_latest === next_nonce) return status
  return blocking ? 'blocked' : 'in_flight'
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
  const { chain_latest, next_nonce, gaps } = state
  const end = Math.min(Math.max(next_nonce, chain_latest ?? 0) + 1, from + max_shown)
  const nonces = Array.from({ length: Math.max(0, end - from) }, (_, index) => from + index)
  const withoutTransaction = (nonce: number): keyof typeof meanings => {
    if (gaps.includes(nonce)) return 'gap'
    if (nonce >= next_nonce) return 'next'
    return chain_latest !== null && nonce < chain_latest ? 'elsewhere' : 'free'
  }
  return (
    <ol className="nonces" aria-label="Nonces">
      {nonces.map((nonce) => {
        const its = byNonce.get(nonce)
        const word = withoutTransaction(nonce)
        const said = its ? stateText(its) : meanings[word]
        const isNext = nonce === chain_latest
        return (
          <li key={nonce} className={isNext ? 'chain' : undefined} title={isNext ? `${said}; the next on chain` : said}>
            <strong>{nonce}</strong>
            {its ? (
              <Link to={transactionPath(its)}>
                <TransactionState its={its} />
              </Link>
            ) : (
              <Badge state={word} />
            )}
          </li>
        )
      })}
    </ol>
  )
}
