import { onlineManager, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react'
import { createRelayerClient, type OwnApiKey, type RelayerClient, RelayerError, type ScopeInput } from '../../index.ts'
import { visible } from './format.ts'
import { forgetRecent, tab } from './storage.ts'

interface Session {
  client: RelayerClient
  token: string
  caller: OwnApiKey
  /** Whether the API key has the scope. */
  may(scope: ScopeInput): boolean
  /** Whether the API key may manage resources that relayers share: networks, signers, the audit trail. */
  mayManageAll: boolean
  /** Whether it may read what relayers share: pools, sponsorships. */
  mayReadAll: boolean
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
  signIn(token: string, caller: OwnApiKey, isRemembered: boolean): void
}

interface SessionProviderProps {
  children: ReactNode
  signIn: (state: SignInState) => ReactNode
}

/** Keeps the API key and its rights. If the service refuses the key, `signIn` is shown, and the pages keep their input. */
export function SessionProvider({ children, signIn }: SessionProviderProps) {
  const [token, setToken] = useState(() => tab.get('api_key') ?? undefined)
  const [caller, setCaller] = useState<OwnApiKey>()
  const [reason, setReason] = useState<string>()

  /** The caller whose data is in the cache: that of another one is read again before anything is shown. */
  const [cachedFor, setCachedFor] = useState<string>()
  const queries = useMemo(
    () =>
      createQueries(() =>
        setReason('The service no longer accepts this API key. Sign in again: this page and your input are kept.'),
      ),
    [],
  )
  const leave = useCallback(() => {
    tab.remove('api_key')
    forgetRecent()
    queries.clear()
    setCachedFor(undefined)
    setToken(undefined)
    setCaller(undefined)
    setReason(undefined)
  }, [queries])
  const signOut = useCallback(() => {
    leave()
    otherTabs.postMessage('signed out')
  }, [leave])
  useEffect(() => {
    otherTabs.addEventListener('message', leave)
    return () => otherTabs.removeEventListener('message', leave)
  }, [leave])
  // After a reload of the page, the key is in sessionStorage.
  useEffect(() => {
    if (token === undefined || caller !== undefined) return
    const ended = new AbortController()
    connect(token)
      .get('/api/v1/api-keys/self', { signal: ended.signal })
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
    if (!session) return
    const { id } = session.caller
    if (cachedFor === id) return void queries.invalidateQueries()
    queries.removeQueries({ type: 'inactive' })
    void queries.resetQueries()
    setCachedFor(id)
  }, [session, queries, cachedFor])
  const state: SignInState = {
    token,
    reason,
    signIn(newToken, newCaller, isRemembered) {
      // Requests with the previous key would be refused.
      void queries.cancelQueries()
      if (newCaller.id !== caller?.id) forgetRecent()
      if (isRemembered) tab.set('api_key', newToken)
      else tab.remove('api_key')
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
          <div hidden={reason !== undefined || cachedFor !== session.caller.id}>{children}</div>
        </SessionContext.Provider>
      )}
    </QueryClientProvider>
  )
}

/** Signing out is meant for the browser: whoever sits there next finds no tab that is still signed in. */
const otherTabs = new BroadcastChannel('relayer console')

/** A header has no such character, so the browser sends nothing. */
export const notAKey =
  'This is no API key: it has a character that no key has, for example a typographic quote. Copy the key again.'

export function signInProblem(error: unknown): string {
  if (error instanceof RelayerError && error.status === 401)
    return 'The service does not accept this API key. It may be mistyped, expired, revoked, or not allowed from this address.'
  if (error instanceof RelayerError) return error.message
  return isLost(error) ? 'The service does not respond. Is it running?' : notAKey
}

function makeSession(token: string, caller: OwnApiKey, signOut: () => void): Session {
  const may = (scope: ScopeInput) => caller.scopes.includes(scope)
  const mayManageAll = may('manage') && caller.relayer_ids === null
  const mayReadAll = may('read') && caller.relayer_ids === null
  return { client: connect(token), token, caller, may, mayManageAll, mayReadAll, signOut }
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

// What the browser says of its network tells nothing of the service, which may be on the same machine.
onlineManager.setEventListener(() => undefined)

/**
 * A fetch that notes whether the service responds. While it does not, the queries of all pages wait with the data that they have, and only
 * `ServiceState` asks; the first response lets them go on.
 */
async function watchedFetch(request: Request): Promise<Response> {
  try {
    const response = await fetch(request)
    onlineManager.setOnline(true)
    const { status, statusText, headers } = response
    return new Response(response.body && visible(await response.text()), { status, statusText, headers })
  } catch (error) {
    if (isLost(error) && !request.signal.aborted) onlineManager.setOnline(false)
    throw error
  }
}

/** What `fetch` throws when there was no answer; it throws the same type for a header that cannot be sent. */
export const isLost = (error: unknown): boolean =>
  error instanceof TypeError && !/ByteString|header/i.test(error.message)
