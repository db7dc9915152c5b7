import { Autocomplete } from '@base-ui/react/autocomplete'
import type { Found } from '../data/found.ts'
import { Badge } from './badge.tsx'

/** A line of the search: its name, what the text was found in, its state, and what it is. `marks`: texts that are set in bold. */
export const FoundLine = ({
  item,
  marks,
  open,
}: {
  item: Found
  marks: string[]
  /** `isNew`: in a tab of its own. */
  open(item: Found, isNew: boolean): void
}) => (
  <Autocomplete.Item
    value={item}
    onClick={({ ctrlKey, metaKey }) => open(item, ctrlKey || metaKey)}
    onMouseDown={(event) => event.button === 1 && event.preventDefault()}
    onAuxClick={({ button }) => button === 1 && open(item, true)}
  >
    <item.icon className="icon" aria-hidden />
    <span className="name">
      <Marked text={item.name} marks={marks} />
    </span>
    <span className="hint detail">
      <Marked text={item.detail ?? ''} marks={marks} />
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
export function follow(item: Found, isNew: boolean, close: () => void): void {
  if (isNew && item.to !== undefined) {
    window.open(`#${item.to}`, '_blank')
    return
  }
  close()
  item.open()
}
