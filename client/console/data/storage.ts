const typed = <Name extends string>(storage: Storage) => ({
  get: (name: Name): string | null => storage.getItem(name),
  set: (name: Name, value: string): void => storage.setItem(name, value),
  remove: (name: Name): void => storage.removeItem(name),
})

/**
 * What the tab keeps until it is closed: the API key, for a reload of the page, and the pages that were opened last. Browsers write it to
 * their profile on the disk, to restore tabs after a crash.
 */
export const tab = typed<'api_key' | 'opened'>(sessionStorage)

/** What the browser keeps. */
export const browser = typed<'zone'>(localStorage)

const maxPages = 6

/** A page of a thing: what it is, its ID or name, and its address. */
export interface RecentPage {
  kind: 'relayer' | 'transaction' | 'pool' | 'facilitator' | 'notification'
  name: string
  to: string
}

/** What this API key opened last, the newest first. */
export function recentPages(callerId: string): RecentPage[] {
  const kept: { callerId: string; pages: RecentPage[] } | null = JSON.parse(tab.get('opened') ?? 'null')
  return kept?.callerId === callerId ? kept.pages : []
}

/** Only IDs and names are kept, and only of the API key that is signed in. */
export function keepRecent(callerId: string, page: RecentPage): void {
  const others = recentPages(callerId).filter(({ to }) => to !== page.to)
  const pages = [page, ...others].slice(0, maxPages)
  tab.set('opened', JSON.stringify({ callerId: callerId, pages }))
}

export const forgetRecent = (): void => tab.remove('opened')
