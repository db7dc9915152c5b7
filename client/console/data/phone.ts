import { useSyncExternalStore } from 'react'

/** Whether the page is as narrow as a phone; the same width as in style.css. */
const phone = matchMedia('(width < 760px)')

function subscribe(read: () => void): () => void {
  phone.addEventListener('change', read)
  return () => phone.removeEventListener('change', read)
}

export const usePhone = (): boolean => useSyncExternalStore(subscribe, () => phone.matches)
