import { useState } from 'react'

/** The items that are chosen in a list, by their names. Another `filter` of the list ends the choice, which may be out of sight. */
export function useChoice<Item>(nameOf: (item: Item) => string, filter: string) {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Item>>(new Map())
  const [before, setBefore] = useState(filter)
  if (before !== filter) {
    setBefore(filter)
    setChosen(new Map())
  }
  return {
    items: [...chosen.values()],
    has: (item: Item) => chosen.has(nameOf(item)),
    toggle(item: Item) {
      const next = new Map(chosen)
      if (!next.delete(nameOf(item))) next.set(nameOf(item), item)
      setChosen(next)
    },
    set: (items: Item[]) => setChosen(new Map(items.map((item) => [nameOf(item), item]))),
  }
}

export type Choice<Item> = ReturnType<typeof useChoice<Item>>

/** Chooses a row. The label is what a finger touches. */
export const ChooseRow = <Row,>({ name, row, choice }: { name: string; row: Row; choice: Choice<Row> }) => (
  <label>
    <input
      type="checkbox"
      aria-label={`Choose ${name}`}
      checked={choice.has(row)}
      onChange={() => choice.toggle(row)}
    />
  </label>
)
