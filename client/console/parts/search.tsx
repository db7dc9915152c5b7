import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useSession } from '../data/session.tsx'
import { errorText } from './feedback.tsx'
import { relayerPath, transactionPath } from './links.tsx'

/** The search for an ID asks this many relayers, because no list filters by ID. */
const max_asked = 50

/** Finds a transaction of any relayer by its id, its hash or its reference, or a relayer by its id. */
export function Search() {
  const { client } = useSession()
  const [, go] = useLocation()
  const [text, setText] = useState('')
  const search = useMutation({
    mutationFn: async (wanted: string) => {
      const { data: relayers } = await client.get('/api/v1/relayers', { query: { per_page: 1_000 } })
      if (relayers.some(({ id }) => id === wanted)) return relayerPath(wanted)
      const query = /^0x[0-9a-f]{64}$/i.test(wanted) ? { hash: wanted } : { reference: wanted }
      const { data } = await client.get('/api/v1/transactions', { query: { ...query, per_page: 1 } })
      if (data[0]) return transactionPath(data[0])
      if (!/^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(wanted)) throw new Error('nothing')
      const found = await Promise.any(
        relayers.slice(0, max_asked).map(({ id }) =>
          client.get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
            path: { relayer_id: id, transaction_id: wanted },
          }),
        ),
      ).catch(() => undefined)
      if (found) return transactionPath(found.data)
      throw new Error('nothing')
    },
    onSuccess: (path) => {
      setText('')
      go(path)
    },
  })

  function submit(event: FormEvent) {
    event.preventDefault()
    if (text.trim() !== '') search.mutate(text.trim())
  }

  const isUnfound = search.error instanceof Error && search.error.message === 'nothing'
  return (
    <search>
      <form onSubmit={submit} className="search">
        <input
          type="search"
          aria-label="Find a transaction by hash, reference or id, or a relayer by id"
          placeholder="Hash, reference or ID"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" disabled={search.isPending}>
          Find
        </button>
        {search.error && <span role="alert">{isUnfound ? 'Nothing found.' : errorText(search.error)}</span>}
      </form>
    </search>
  )
}
