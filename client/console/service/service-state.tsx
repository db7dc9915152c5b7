import { onlineManager, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { RelayerError } from '../../index.ts'
import { useSession } from '../data/session.tsx'

const pollMs = 3_000
/** While the service is away, it is asked at half the pace after each time, up to this. */
const maxPollMs = 12_000
const toldMs = 4_000

/**
 * Reports when the service is down and when it is up again, and then reloads the page's data. It asks while the queries of the pages wait
 * (data/session.tsx).
 */
export function ServiceState() {
  const { client } = useSession()
  const queries = useQueryClient()
  const wasAway = useRef(false)
  const failures = useRef(0)
  const [isBack, setBack] = useState(false)
  const { error } = useQuery({
    queryKey: ['/api/v1/ready'],
    queryFn: async ({ signal }) => {
      failures.current += 1
      const { data } = await client.get('/api/v1/ready', { signal })
      failures.current = 0
      return data
    },
    refetchInterval: () => Math.min(pollMs * 2 ** failures.current, maxPollMs),
    networkMode: 'always',
    retry: false,
  })
  const isAway = error !== null
  // One lost request may have another cause.
  useEffect(
    () =>
      onlineManager.subscribe((isOnline) => void (isOnline || queries.refetchQueries({ queryKey: ['/api/v1/ready'] }))),
    [queries],
  )

  useEffect(() => {
    const returned = wasAway.current && !isAway
    wasAway.current = isAway
    if (!returned) return
    setBack(true)
    void queries.invalidateQueries()
    const timer = setTimeout(() => setBack(false), toldMs)
    return () => clearTimeout(timer)
  }, [isAway, queries])

  return (
    <div role="status">
      {isAway && <p className="banner bad">{textOf(error)} The data shown may be out of date. Retrying…</p>}
      {!isAway && isBack && <p className="banner good">The connection is restored.</p>}
    </div>
  )
}

const textOf = (error: unknown): string =>
  error instanceof RelayerError
    ? `The service is not ready: ${error.details.map(({ path, message }) => `${path} ${message}`).join(', ') || error.message}.`
    : 'The service does not respond.'
