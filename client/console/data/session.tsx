import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react'
import { type Caller, createRelayerClient, type RelayerClient, RelayerError, type Scope } from '../../index.ts'
import { isLost, watchedFetch } from './connection.ts'
import { forgetOpened } from './opened.ts'

/**
 * sessionStorage keeps the API key for a reload of the page, until the tab is closed. Browsers write it to their profile on the disk, to
 * restore tabs after a crash.
 */
const storage_key = 'api_key'

interface Session {
  client: RelayerClient
  token: string
  caller: Caller
  /** Whether the API key has the scope. */
  may(scope: Scope): boolean
  /** Whether the API key may manage resources that relayers share: networks, signers, the audit trail. */
  mayManageAll: boolean
  signOut(): void
}

const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('There is no session')
  return session
}

export const connect = (token: string): RelayerClient =>
  createRelayerClient({ baseUrl: location.origin, token, maxRetries: 1, fetch: watchedFetch })

export interface SignInState {
  /** Undefined until the first sign-in in this tab. */
  token: string | undefined
  /** Why the page asks for a key again. */
  reason: string | undefined
  /** `isRemembered`: the key is kept for a reload of the page; otherwise in memory only. */
  signIn(token: string, caller: Caller, isRemembered: boolean): void
}

/** Keeps the API key and its rights. If the service refuses the key, `signIn` is shown, and the pages keep their input. */
export function SessionProvider({
  children,
  signIn,
}: {
  children: ReactNode
  signIn: (state: SignInState) => ReactNode
}) {
  const [token, setToken] = useState(() => sessionStorage.getItem(storage_key) ?? undefined)
  const [caller, setCaller] = useState<Caller>()
  const [reason, setReason] = useState<string>()

  const queries = useMemo(
    () =>
      createQueries(() =>
        setReason('The service no longer accepts this API key. Sign in again: this page and your input are kept.'),
      ),
    [],
  )
  const signOut = useCallback(() => {
    sessionStorage.removeItem(storage_key)
    forgetOpened()
    queries.clear()
    setToken(undefined)
    setCaller(undefined)
    setReason(undefined)
  }, [queries])
  // After a reload of the page, the key is in sessionStorage.
  useEffect(() => {
    if (token === undefined || caller !== undefined) return
    const ended = new AbortController()
    connect(token)
      .get('/api/v1/caller', { signal: ended.signal })
      .then(
        ({ data }) => setCaller(data),
        (error) => ended.signal.aborted || setReason(signInProblem(error)),
      )
    return () => ended.abort()
  }, [token, caller])
  const session = useMemo(
    () => token !== undefined && caller && makeSession(token, caller, signOut),
    [token, caller, signOut],
  )
  useEffect(() => {
    if (session) void queries.invalidateQueries()
  }, [session, queries])
  const state: SignInState = {
    token,
    reason,
    signIn(newToken, newCaller, isRemembered) {
      // Requests with the previous key would be refused.
      void queries.cancelQueries()
      if (isRemembered) sessionStorage.setItem(storage_key, newToken)
      else sessionStorage.removeItem(storage_key)
      setToken(newToken)
      setCaller(newCaller)
      setReason(undefined)
    },
  }
  return (
    <QueryClientProvider client={queries}>
      {(!session || reason !== undefined) && signIn(state)}
      {session && (
        <SessionContext.Provider value={session}>
          <div hidden={reason !== undefined}>{children}</div>
        </SessionContext.Provider>
      )}
    </QueryClientProvider>
  )
}

/** A header has no such character, so the browser sends nothing. */
export const not_a_key =
  'This is no API key: it has a character that no key has, for example a typographic quote. Copy the key again.'

export function signInProblem(error: unknown): string {
  if (error instanceof RelayerError && error.status === 401)
    return 'The service does not accept this API key. It may be mistyped, expired, revoked, or not allowed from this address.'
  if (error instanceof RelayerError) return error.message
  return isLost(error) ? 'The service does not respond. Is it running?' : not_a_key
}

function makeSession(token: string, caller: Caller, signOut: () => void): Session {
  const may = (scope: Scope) => caller.scopes.includes(scope)
  const mayManageAll = may('manage') && caller.relayer_ids === null
  return { client: connect(token), token, caller, may, mayManageAll, signOut }
}

function createQueries(refused: () => void): QueryClient {
  const queries = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 1_000,
        retry: (failures, error) => failures < 1 && !(error instanceof RelayerError && error.status < 500),
      },
      mutations: { networkMode: 'always', retry: false },
    },
  })
  const check = (error: unknown) => {
    if (error instanceof RelayerError && error.status === 401) refused()
  }
  queries.getQueryCache().config.onError = check
  queries.getMutationCache().config.onError = check
  return queries
}
