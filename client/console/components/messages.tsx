import { lazy, Suspense, useSyncExternalStore } from 'react'
import { hasMessages, subscribeToMessages } from '../data/messages.ts'
import { Boundary } from './feedback.tsx'

const Toasts = lazy(async () => ({ default: (await import('./toasts.tsx')).Toasts }))

/** The place of messages, whose program is loaded for the first one. */
export function Messages() {
  const isNeeded = useSyncExternalStore(subscribeToMessages, hasMessages)
  return (
    isNeeded && (
      <Boundary>
        <Suspense fallback={null}>
          <Toasts />
        </Suspense>
      </Boundary>
    )
  )
}
