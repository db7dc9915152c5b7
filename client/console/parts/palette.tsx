import { Autocomplete } from '@base-ui/react/autocomplete'
import { useQuery } from '@tanstack/react-query'
import { ArrowRight, Bell, FileCode2, Search as Glass, Key, type LucideIcon, Network, Send, Wallet } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import type { SearchResult } from '../../index.ts'
import { words } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { errorText } from './feedback.tsx'
import { relayerPath, transactionPath } from './links.tsx'

/** How long the reader has to stop before the service is asked. */
const pause_ms = 250

interface Item {
  value: string
  name: string
  about: string
  to: string
  icon: LucideIcon
}

/** Finds anything by id, name, address, hash, nonce, reference or metadata, and the pages. Enter opens the first; a single result at once. */
export function Palette({ pages, close }: { pages: { to: string; name: string }[]; close(): void }) {
  const { client } = useSession()
  const [, go] = useLocation()
  const [text, setText] = useState('')
  const [asked, setAsked] = useState('')
  /** Enter was pressed before the answer was there. */
  const [opens, setOpens] = useState('')
  const q = text.trim()
  useEffect(() => {
    const timer = setTimeout(() => setAsked(q), pause_ms)
    return () => clearTimeout(timer)
  }, [q])
  const search = useQuery({
    queryKey: ['search', asked],
    queryFn: async ({ signal }) => (await client.get('/api/v1/search', { query: { q: asked }, signal })).data,
    enabled: asked !== '',
  })
  const isKnown = asked === q && search.data !== undefined
  const found = q !== '' && isKnown ? search.data.map(itemOf) : []
  const [only, second] = found
  useEffect(() => {
    if (opens !== q || !only || second) return
    close()
    go(only.to)
  }, [opens, q, only, second, close, go])

  const matching = pages.filter(({ name }) => name.toLowerCase().includes(q.toLowerCase())).map(pageItem)
  const items = [...found, ...matching]
  const open = (item: Item) => {
    close()
    go(item.to)
  }
  return (
    <Autocomplete.Root
      open
      inline
      items={items}
      filter={null}
      mode="none"
      value={text}
      onValueChange={(next, { reason }) => reason !== 'item-press' && setText(next)}
      autoHighlight="always"
      keepHighlight
      itemToStringValue={({ name }: Item) => name}
    >
      <div className="asked">
        <Glass className="icon" aria-hidden />
        <Autocomplete.Input
          aria-label="Find by ID, name, address, hash, nonce or reference"
          placeholder="ID, name, address, hash, nonce, reference or page"
          maxLength={255}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && q !== '' && !isKnown) setOpens(q)
          }}
        />
        <kbd>Esc</kbd>
      </div>
      {search.error && q !== '' && (
        <p className="told" role="alert">
          {errorText(search.error)}
        </p>
      )}
      {q !== '' && isKnown && found.length === 0 && (
        <p className="told" role="alert">
          Nothing found.
        </p>
      )}
      <Autocomplete.List className="found" aria-label="Search results">
        {(item: Item) => (
          <Autocomplete.Item key={item.value} value={item} onClick={() => open(item)}>
            <item.icon className="icon" aria-hidden />
            <span>{item.name}</span>
            <span className="hint">{item.about}</span>
          </Autocomplete.Item>
        )}
      </Autocomplete.List>
      <footer>
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> to choose
        </span>
        <span>
          <kbd>Enter</kbd> to open
        </span>
      </footer>
    </Autocomplete.Root>
  )
}

const icons: Partial<Record<SearchResult['kind'], LucideIcon>> = {
  relayer: Wallet,
  network: Network,
  signer: Key,
  notification: Bell,
  abi: FileCode2,
  transaction: Send,
}

const pageItem = ({ to, name }: { to: string; name: string }): Item => ({
  ...{ value: `page ${to}`, name, to, about: 'page', icon: ArrowRight },
})

function itemOf(result: SearchResult): Item {
  const { kind, id, relayer_id, name } = result
  const about = [
    `${kind}${relayer_id === null ? '' : ` of ${relayer_id}`}`,
    ...(name === null || name === id ? [] : [words(name)]),
  ]
  return {
    value: `${kind} ${id}`,
    name: id,
    about: about.join(', '),
    to: pathOf(result),
    icon: icons[kind] ?? ArrowRight,
  }
}

function pathOf({ kind, id, relayer_id }: SearchResult): string {
  if (kind === 'transaction') return transactionPath({ relayer_id: relayer_id ?? '', id })
  if (kind === 'relayer') return relayerPath(id)
  if (kind === 'signer') return '/signers'
  return kind === 'notification' ? `/notifications/${encodeURIComponent(id)}` : '/networks'
}
