import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { RelayerError } from '../../index.ts'
import { useSession } from '../data/session.tsx'

const poll_ms = 3_000
const told_ms = 4_000

/** Reports when the service is down and when it is up again, and then reloads the page's data. */
export function ServiceState() {
  const { client } = useSession()
  const queries = useQueryClient()
  const wasAway = useRef(false)
  const [isBack, setBack] = useState(false)
  const { error } = useQuery({
    queryKey: ['ready'],
    queryFn: ({ signal }) => client.get('/api/v1/ready', { signal }),
    refetchInterval: poll_ms,
    retry: false,
  })
  const isAway = error !== null

  useEffect(() => {
    const returned = wasAway.current && !isAway
    wasAway.current = isAway
    if (!returned) return
    setBack(true)
    void queries.invalidateQueries()
    const timer = setTimeout(() => setBack(false), told_ms)
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
