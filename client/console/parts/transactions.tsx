import { useLocation } from 'wouter'
import type { TransactionStatus } from '../../index.ts'
import { useSession } from '../data/session.tsx'
import type { Filter } from '../data/transactions.ts'
import { Action } from './action.tsx'
import { relayerPath } from './links.tsx'
import { TransactionList } from './transaction-list.tsx'

const groups = {
  all: [],
  unfinished: ['pending', 'sent', 'submitted', 'mined'],
  confirmed: ['confirmed'],
  failed: ['failed'],
  withdrawn: ['canceled', 'expired'],
} as const satisfies Record<string, TransactionStatus[]>

/** The list with its filters: by hash, address, nonce, range of nonces, or reference. */
export function Transactions({
  relayer_id,
  group: named = 'all',
  find: typed = '',
}: {
  relayer_id: string
  group?: string | undefined
  find?: string | undefined
}) {
  const { client, may } = useSession()
  const [, go] = useLocation()
  const group = named in groups ? (named as keyof typeof groups) : 'all'
  /** The filters are in the address, so that it can be given to others. */
  const show = (wanted: string, text: string) =>
    go(`${relayerPath(relayer_id)}/list/${wanted}${text === '' ? '' : `/${encodeURIComponent(text)}`}`, {
      replace: true,
    })
  const filter: Filter = { ...(group !== 'all' && { status: [...groups[group]] }), ...filterOf(typed.trim()) }
  return (
    <>
      <div className="bar">
        <fieldset className="choice">
          <legend className="hidden">Status</legend>
          {(Object.keys(groups) as (keyof typeof groups)[]).map((one) => (
            <button key={one} type="button" aria-pressed={group === one} onClick={() => show(one, typed)}>
              {one}
            </button>
          ))}
        </fieldset>
        <input
          type="search"
          className="filter"
          aria-label="Filter by hash, receiver, nonce or reference"
          placeholder="Hash, receiver, nonce (5 or 5-9) or reference"
          value={typed}
          onChange={(event) => show(group, event.target.value)}
        />
        {may('send') && (
          <Action
            label="Cancel all pending"
            tone="danger"
            effect={
              <p>
                Cancels every transaction of {relayer_id} that is not mined, from the highest nonce down. Signed ones
                are replaced by transfers of 0, which cost fees.
              </p>
            }
            run={() => client.delete('/api/v1/relayers/{relayer_id}/transactions/pending', { path: { relayer_id } })}
          />
        )}
      </div>
      <TransactionList relayer_id={relayer_id} filter={filter} />
    </>
  )
}

function filterOf(text: string): Filter {
  if (text === '') return {}
  if (/^0x[0-9a-f]{64}$/i.test(text)) return { hash: text }
  if (/^0x[0-9a-f]{40}$/i.test(text)) return { to: text }
  const [, from, to = from] = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(text) ?? []
  if (from !== undefined) return { nonce_from: Number(from), nonce_to: Number(to) }
  return { reference: text.slice(0, 128) }
}
