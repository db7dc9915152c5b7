import { useEffect } from 'react'

/** The label of the button that the search was asked for, until a page shows it. */
let wanted: string | undefined
const listeners = new Set<() => void>()

/** Presses the button with this label, on this page or on the one that is being opened. */
export function press(label: string): void {
  wanted = label
  for (const listener of listeners) listener()
}

/** `run`: what the button does. */
export function useCommand(label: string, run: () => void): void {
  useEffect(() => {
    const take = () => {
      if (wanted !== label) return
      wanted = undefined
      run()
    }
    take()
    listeners.add(take)
    return () => void listeners.delete(take)
  })
}
