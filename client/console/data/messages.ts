import type { ReactNode } from 'react'

/** What an action did. `page`: the one that was open then. */
export interface Message {
  text: ReactNode
  page: string
}

/** Messages of the time before their program was loaded, which the first of them loads. */
const untold: Message[] = []
let show: ((message: Message) => void) | undefined
const listeners = new Set<() => void>()

/** Shows for some seconds what an action did, on the page that is open then: the action may have opened it. */
export function tell(text: ReactNode): void {
  const message = { text, page: shownPage() }
  if (show) show(message)
  else untold.push(message)
  for (const listener of listeners) listener()
}

/** As `useLocation` names it. */
const shownPage = () => `/${location.hash.replace(/^#?\/?/, '')}`

/** Has messages shown, those of before too. Returns what ends it. */
export function takeMessages(shown: (message: Message) => void): () => void {
  show = shown
  for (const message of untold.splice(0)) shown(message)
  return () => {
    show = undefined
  }
}

/** Whether there is or was a message. */
export const hasMessages = (): boolean => show !== undefined || untold.length > 0

export function subscribeToMessages(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
