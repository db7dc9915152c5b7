import { Autocomplete } from '@base-ui/react/autocomplete'
import { Search as Glass } from 'lucide-react'
import { useEffect, useState } from 'react'
import { type Found, useFound } from '../data/found.ts'
import { errorText } from './feedback.tsx'

/** A page, or what can be done or seen on it. `keys`: what it is also found by. */
export interface Target extends Found {
  keys?: string
}

/**
 * Finds anything by ID, name, address, hash, nonce, reference or metadata, and the targets. Enter opens the first; a single result at
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
  /** Enter was pressed before the answer was there. */
  const [opens, setOpens] = useState('')
  const q = text.trim()
  const { found, lists, isKnown, error } = useFound(q)
  const only = found.length === 1 ? found[0] : undefined
  useEffect(() => {
    if (opens !== q || !only) return
    close()
    only.open()
  }, [opens, q, only, close])

  const items = [...found, ...lists, ...targets.filter((target) => matches(target, q))]
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
      itemToStringValue={({ name }: Found) => name}
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
      {error !== null && q !== '' && (
        <p className="told" role="alert">
          {errorText(error)}
        </p>
      )}
      {q !== '' && isKnown && items.length === 0 && <NothingFound q={q} />}
      <Autocomplete.List className="found" aria-label="Search results">
        {(item: Found, index: number) => (
          <Autocomplete.Item
            key={`${index} ${item.name}`}
            value={item}
            onClick={() => {
              close()
              item.open()
            }}
          >
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

const NothingFound = ({ q }: { q: string }) => (
  <div className="told" role="alert">
    <p>Nothing found for “{q}”.</p>
    <p className="hint">
      Transactions are found by ID, hash, nonce (nonce 12), address, reference or metadata (customer:4711); everything
      else by ID, name or address; pages and actions by name. IDs, hashes, addresses and references are found by their
      first 4 characters or more.
    </p>
  </div>
)

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
