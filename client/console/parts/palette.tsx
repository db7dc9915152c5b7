import { Autocomplete } from '@base-ui/react/autocomplete'
import { useQuery } from '@tanstack/react-query'
import {
  ArrowRight,
  Bell,
  FileCode2,
  Search as Glass,
  Key,
  type LucideIcon,
  Network,
  Plus,
  Send,
  Wallet,
} from 'lucide-react'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import type { SearchResult } from '../../index.ts'
import { press } from '../data/commands.ts'
import { amount, words } from '../data/format.ts'
import { useSymbolsOfRelayers } from '../data/overview.ts'
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
  /** The button that is pressed there. */
  button?: string
}

/** A page, or what can be done or seen on it. `keys`: what it is also found by. `button`: pressed on the page. */
export interface Target {
  to: string
  name: string
  about: string
  keys?: string
  button?: string
}

/**
 * Finds anything by id, name, address, hash, nonce, reference or metadata, and the targets. Enter opens the first; a single result at
 * once.
 */
export function Palette({
  targets,
  text,
  setText,
  close,
}: {
  targets: Target[]
  text: string
  setText(text: string): void
  close(): void
}) {
  const { client } = useSession()
  const symbolOf = useSymbolsOfRelayers()
  const [, go] = useLocation()
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
  const found = q !== '' && isKnown ? search.data.map((result) => itemOf(result, symbolOf)) : []
  const [only, second] = found
  useEffect(() => {
    if (opens !== q || !only || second) return
    close()
    go(only.to)
  }, [opens, q, only, second, close, go])

  const items = [...found, ...targets.filter((target) => matches(target, q)).map(targetItem)]
  const open = ({ to, button }: Item) => {
    close()
    go(to)
    if (button !== undefined) press(button)
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
          autoFocus
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
      {q !== '' && isKnown && items.length === 0 && (
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

/** Without a text: the pages only. */
const matches = ({ name, about, keys = '' }: Target, q: string): boolean => {
  const text = `${name} ${keys}`.toLowerCase()
  return q === ''
    ? about === 'page'
    : q
        .toLowerCase()
        .split(/\s+/)
        .every((word) => text.includes(word))
}

const targetItem = (target: Target): Item => ({
  ...target,
  value: `target ${target.to} ${target.name}`,
  icon: target.button === undefined ? ArrowRight : Plus,
})

function itemOf(result: SearchResult, symbolOf: (relayer_id: string) => string): Item {
  const { kind, id, relayer_id, name, nonce, reference, value } = result
  const its = { value: `${kind} ${id}`, to: pathOf(result), icon: icons[kind] ?? ArrowRight }
  if (relayer_id === null) return { ...its, name: id, about: name === null || name === id ? kind : `${kind}, ${name}` }
  return {
    ...its,
    name: [relayer_id, nonce === null ? 'no nonce yet' : `nonce ${nonce}`, words(name ?? '')].join(' · '),
    about: [...(reference === null ? [] : [reference]), amount(value, symbolOf(relayer_id))].join(' · '),
  }
}

function pathOf({ kind, id, relayer_id }: SearchResult): string {
  if (kind === 'transaction') return transactionPath({ relayer_id: relayer_id ?? '', id })
  if (kind === 'relayer') return relayerPath(id)
  if (kind === 'signer') return '/signers'
  return kind === 'notification' ? `/notifications/${encodeURIComponent(id)}` : '/networks'
}
