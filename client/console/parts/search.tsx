import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { SearchResult } from '../../index.ts'
import { words } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { errorText } from './feedback.tsx'
import { relayerPath, transactionPath } from './links.tsx'

/** Finds anything by id, name, address, hash, nonce, reference or metadata. A single result opens at once. */
export function Search() {
  const { client } = useSession()
  const [, go] = useLocation()
  const [text, setText] = useState('')
  const search = useMutation({
    mutationFn: async (q: string) => (await client.get('/api/v1/search', { query: { q } })).data,
    onSuccess: ([first, ...others]) => {
      if (!first || others.length > 0) return
      end()
      go(pathOf(first))
    },
  })

  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    function focusIt(event: KeyboardEvent) {
      if (!(event.ctrlKey || event.metaKey) || event.key !== 'k') return
      event.preventDefault()
      input.current?.focus()
    }
    document.addEventListener('keydown', focusIt)
    return () => document.removeEventListener('keydown', focusIt)
  }, [])

  function end() {
    setText('')
    search.reset()
  }

  function submit(event: FormEvent) {
    event.preventDefault()
    if (text.trim() !== '') search.mutate(text.trim())
  }

  return (
    <search>
      <form onSubmit={submit} className="search" onKeyDown={(event) => event.key === 'Escape' && end()}>
        <input
          ref={input}
          type="search"
          aria-label="Find by ID, name, address, hash, nonce or reference"
          placeholder="Find (Ctrl-K)"
          maxLength={255}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" disabled={search.isPending}>
          Find
        </button>
        {search.error && <span role="alert">{errorText(search.error)}</span>}
        {search.data?.length === 0 && <span role="alert">Nothing found.</span>}
      </form>
      {search.data && search.data.length > 1 && (
        <ul className="found" aria-label="Search results">
          {search.data.map((result) => (
            <li key={`${result.kind} ${result.id}`}>
              <Link to={pathOf(result)} onClick={end}>
                <strong>{result.id}</strong>{' '}
                <span className="hint">
                  {result.kind}
                  {result.relayer_id !== null && ` of ${result.relayer_id}`}
                  {result.name !== null && result.name !== result.id && `, ${words(result.name)}`}
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </search>
  )
}

function pathOf({ kind, id, relayer_id }: SearchResult): string {
  if (kind === 'transaction') return transactionPath({ relayer_id: relayer_id ?? '', id })
  if (kind === 'relayer') return relayerPath(id)
  return kind === 'notification' ? `/notifications/${encodeURIComponent(id)}` : '/networks'
}
