/** Of the browser's tab, which keeps it until it is closed. */
const storage_key = 'opened'
const max_opened = 6

/** A page of a thing: what it is, its ID or name, and its address. */
export interface Opened {
  kind: 'relayer' | 'transaction' | 'pool' | 'notification'
  name: string
  to: string
}

/** What this API key opened last, the newest first. */
export function openedBy(caller_id: string): Opened[] {
  const kept: { caller_id: string; things: Opened[] } | null = JSON.parse(sessionStorage.getItem(storage_key) ?? 'null')
  return kept?.caller_id === caller_id ? kept.things : []
}

/** Only IDs and names are kept, and only of the API key that is signed in. */
export function keepOpened(caller_id: string, opened: Opened): void {
  const others = openedBy(caller_id).filter(({ to }) => to !== opened.to)
  const things = [opened, ...others].slice(0, max_opened)
  sessionStorage.setItem(storage_key, JSON.stringify({ caller_id, things }))
}

export const forgetOpened = (): void => sessionStorage.removeItem(storage_key)
