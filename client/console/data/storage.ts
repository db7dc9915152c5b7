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
