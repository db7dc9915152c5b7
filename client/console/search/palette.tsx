import { Autocomplete } from '@base-ui/react/autocomplete'
import { Bell, Search as Glass, HandCoins, Layers, type LucideIcon, Send, Wallet } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { errorText, severities } from '../components/feedback.tsx'
import { Badge } from '../components/values.tsx'
import { count } from '../data/format.ts'
import { press } from '../data/press-button.ts'
import { isOpenProblem, useHealthOfId, useProblems } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { toneOf } from '../data/statuses.ts'
import { type RecentPage, recentPages } from '../data/storage.ts'
import { problemPath } from '../problems/problems.tsx'
import { type Found, useLeads, useSearchResults } from './search.ts'
import { isAsked, type SearchAction, useSearchActions } from './search-actions.ts'

/** A page, or what can be done or seen on it. `keys`: what it is also found by. */
export interface Target extends Found {
  keys?: string
}

/** Lines under one heading. */
interface Group {
  label: string
  items: Found[]
  /** Texts that are set in bold. */
  marks: string[]
}

const maxActions = 20
const maxRecent = 5
const maxUrgent = 4

interface PaletteProps {
  targets: Target[]
  text: string
  setText(text: string): void
  close(): void
}

/**
 * Finds anything by ID, name, address, hash, nonce, reference or metadata, the actions on it, and the targets. Enter opens the first; a
 * single result at once.
 */
export function Palette({ targets, text, setText, close }: PaletteProps) {
  /** Enter was pressed before the answer was there. */
  const [opens, setOpens] = useState('')
  const q = text.trim()
  const { found, lists, total, isKnown, error } = useSearchResults(q)
  const { asked, ofExact } = useActions(q, isKnown)
  const recent = useRecent()
  const { urgent, open } = useUrgent()
  const [only, ...others] = found.length > 0 ? found : asked
  useEffect(() => {
    if (opens !== q || !only || others.length > 0) return
    close()
    only.open()
  }, [opens, q, only, others.length, close])

  const words = q.split(/\s+/)
  const groups: Group[] = [
    {
      label: urgent.length < open ? `Needs attention (${urgent.length} of ${count(open)})` : 'Needs attention',
      items: q === '' ? urgent : [],
      marks: [],
    },
    { label: 'Recent', items: q === '' ? recent : [], marks: [] },
    { label: 'Actions', items: asked.slice(0, maxActions), marks: words },
    { label: 'Found', items: [...found, ...lists], marks: [q, q.slice(0, 20)] },
    { label: `Actions on ${q}`, items: ofExact, marks: [] },
    { label: 'Pages and forms', items: targets.filter((target) => matches(target, q)), marks: words },
  ].filter(({ items }) => items.length > 0)
  return (
    <Autocomplete.Root
      open
      inline
      items={groups}
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
          placeholder="ID, name, address, hash or action"
          maxLength={255}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return
            if (event.ctrlKey || event.metaKey) clickHighlighted(event.currentTarget)
            else if (groups.length === 0 && !isKnown) setOpens(q)
          }}
        />
        <kbd>Esc</kbd>
      </div>
      {error !== null && q !== '' && (
        <p className="told" role="alert">
          {errorText(error)}
        </p>
      )}
      {q !== '' && isKnown && groups.length === 0 && <NothingFound q={q} />}
      <Autocomplete.List className="found" aria-label="Search results">
        {({ label, items, marks }: Group) => (
          <Autocomplete.Group key={label} items={items}>
            <Autocomplete.GroupLabel className="label">{label}</Autocomplete.GroupLabel>
            <Autocomplete.Collection>
              {(item: Found, index: number) => (
                <FoundLine
                  key={`${index} ${item.name}`}
                  item={item}
                  marks={marks}
                  open={(its, isNew) => follow(its, isNew, close)}
                />
              )}
            </Autocomplete.Collection>
          </Autocomplete.Group>
        )}
      </Autocomplete.List>
      {asked.length > maxActions && (
        <More>
          The first {count(maxActions)} of {count(asked.length)} actions. Type more to see the others.
        </More>
      )}
      {total > found.length && (
        <More>
          {lists[0] === undefined ? (
            `The first ${count(found.length)} of at least ${count(total)} results. Type more to see the others.`
          ) : (
            <a href={`#${lists[0].to}`} onClick={close}>
              The first {count(found.length)} of at least {count(total)} results: show all
            </a>
          )}
        </More>
      )}
      {q === '' && <p className="told hint">{searched}</p>}
      <footer>
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> choose
        </span>
        <span>
          <kbd>Enter</kbd> open
        </span>
        <span>
          <kbd>Ctrl Enter</kbd> in a new tab
        </span>
      </footer>
    </Autocomplete.Root>
  )
}

/** As the mouse with Ctrl. */
function clickHighlighted(field: HTMLInputElement): void {
  const line = document.getElementById(field.getAttribute('aria-activedescendant') ?? '')
  line?.dispatchEvent(new MouseEvent('click', { bubbles: true, ctrlKey: true }))
}

const searched =
  'Find anything by ID, name or address; a transaction also by hash, nonce, receiver, reference or metadata; an action by its name: “pause oracle-1”.'

const More = ({ children }: { children: ReactNode }) => (
  <p className="told hint" role="status">
    {children}
  </p>
)

/** What can be done: with what the text names after a verb; and, once it is found, with the one thing that has this ID. */
function useActions(q: string, isKnown: boolean): { asked: Found[]; ofExact: Found[] } {
  const [, go] = useLocation()
  const all = useSearchActions()
  const itemOf = ({ verb, to, presses, thing: { id, kind, icon } }: SearchAction): Found => ({
    ...{ name: `${verb} ${id}`, about: kind, icon },
    open() {
      go(to)
      press(...presses)
    },
  })
  if (q === '') return { asked: [], ofExact: [] }
  return {
    asked: all
      .filter((one) => isAsked(one, q))
      .map((one) => ({ ...itemOf(one), ...(one.thing.state !== undefined && { state: one.thing.state }) })),
    // What was found has its state.
    ofExact: isKnown ? all.filter(({ thing }) => thing.id.toLowerCase() === q.toLowerCase()).map(itemOf) : [],
  }
}

const icons: Record<RecentPage['kind'], LucideIcon> = {
  ...{ relayer: Wallet, transaction: Send, pool: Layers, facilitator: HandCoins, notification: Bell },
}

/** What was opened last, apart from the page that is open. */
function useRecent(): Found[] {
  const { caller } = useSession()
  const [path] = useLocation()
  const leads = useLeads()
  const stateOf = useHealthOfId()
  return recentPages(caller.id)
    .filter(({ to }) => to !== path)
    .slice(0, maxRecent)
    .map(({ kind, name, to }) => {
      const state = kind === 'relayer' ? stateOf(name) : undefined
      return leads({ name, about: kind, icon: icons[kind], to, ...(state !== undefined && { state }) })
    })
}

/** What needs attention now, the worst first. */
function useUrgent(): { urgent: Found[]; open: number } {
  const { data } = useProblems()
  const leads = useLeads()
  const open = data?.data.filter(isOpenProblem) ?? []
  const urgent = open.slice(0, maxUrgent).map((its) => {
    const { Shape, word } = severities[its.severity]
    return leads({ name: its.summary, about: word, icon: Shape, tone: toneOf(its.severity), to: problemPath(its) })
  })
  return { urgent, open: open.length }
}

const NothingFound = ({ q }: { q: string }) => (
  <div className="told" role="alert">
    <p>Nothing found for “{q}”.</p>
    <p className="hint">
      Transactions are found by ID, hash, nonce (nonce 12, or oracle-1 nonce 12), receiver, reference or metadata
      (customer:4711), everything else by ID, name or address. Type at least the first 4 characters of an ID, hash,
      address or reference.
    </p>
  </div>
)

/** Without a text: the pages and their forms. */
const matches = ({ name, about, keys = '' }: Target, q: string): boolean => {
  const text = `${name} ${keys}`.toLowerCase()
  return q === ''
    ? about === 'page' || about === 'opens the form'
    : q
        .toLowerCase()
        .split(/\s+/)
        .every((word) => text.includes(word))
}

interface FoundLineProps {
  item: Found
  marks: string[]
  /** `isNew`: in a tab of its own. */
  open(item: Found, isNew: boolean): void
}

/** A line of the search: its name, what the text was found in, its state, and what it is. `marks`: texts that are set in bold. */
const FoundLine = ({ item, marks, open }: FoundLineProps) => (
  <Autocomplete.Item
    value={item}
    onClick={({ ctrlKey, metaKey }) => open(item, ctrlKey || metaKey)}
    onMouseDown={(event) => event.button === 1 && event.preventDefault()}
    onAuxClick={({ button }) => button === 1 && open(item, true)}
  >
    <item.icon className={`icon ${item.tone ?? ''}`} aria-hidden />
    <span className="name">
      <Marked text={item.name} marks={marks} />
    </span>
    <span className="hint detail">
      {(item.detail ?? '').split(/(\S+…\S+)/).map((part, index) =>
        index % 2 === 0 ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name
          <Marked key={index} text={part} marks={marks} />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name
          <code key={index}>
            <Marked text={part} marks={marks} />
          </code>
        ),
      )}
    </span>
    {item.amount !== undefined && <span className="hint amount">{item.amount}</span>}
    {item.state !== undefined && <Badge state={item.state} waited={item.waited} />}
    <span className="hint kind">{item.about}</span>
  </Autocomplete.Item>
)

function Marked({ text, marks }: { text: string; marks: string[] }) {
  const wanted = marks.filter((mark) => mark !== '').map((mark) => mark.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&'))
  if (wanted.length === 0) return text
  const parts = text.split(new RegExp(`(${wanted.join('|')})`, 'i'))
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name
  return parts.map((part, index) => (index % 2 === 1 ? <b key={index}>{part}</b> : part))
}

/** Opens an item in place, or its page in a tab of its own, which is signed in as this one is. */
function follow(item: Found, isNew: boolean, close: () => void): void {
  if (isNew && item.to !== undefined) {
    window.open(`#${item.to}`, '_blank')
    return
  }
  close()
  item.open()
}
