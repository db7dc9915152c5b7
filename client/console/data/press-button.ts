import { useEffect } from 'react'

/** How long a page may take to show a button that the search was asked for. */
const patienceMs = 15_000
/** The labels of the buttons that the search was asked for, until a page shows one of them. */
let wanted: { labels: string[]; until: number } = { labels: [], until: 0 }
const listeners = new Set<() => void>()

/** Presses the button with one of these labels, on this page or on the one that is being opened. */
export function press(...labels: string[]): void {
  wanted = { labels, until: Date.now() + patienceMs }
  for (const listener of listeners) listener()
}

/** `run`: what the button does. `isEnabled`: it can be pressed now. */
export function usePressable(label: string, run: () => void, isEnabled = true): void {
  useEffect(() => {
    if (!isEnabled) return
    const take = () => {
      if (!wanted.labels.includes(label) || Date.now() > wanted.until) return
      wanted.labels = []
      run()
    }
    take()
    listeners.add(take)
    return () => void listeners.delete(take)
  })
}
