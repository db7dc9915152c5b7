import { useQuery } from '@tanstack/react-query'
import {
  ArrowLeftRight,
  ArrowRight,
  Bell,
  FileCode2,
  Gift,
  Key,
  KeyRound,
  Layers,
  type LucideIcon,
  Network,
  Send,
  Wallet,
} from 'lucide-react'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import type { SearchResult } from '../../index.ts'
import { encoded, poolPath, relayerPath, transactionPath } from '../parts/links.tsx'
import { fixed, short, words } from './format.ts'
import { useApiKeys, usePools, useSponsorships, useSymbolsOfRelayers } from './overview.ts'
import { useSession } from './session.tsx'

/** How long the reader has to stop before the service is asked. */
const pause_ms = 250
/** `nonce 12` or `#12`: of a transaction only. */
const nonce_form = /^(?:nonce\s+|#)(\d{1,15})$/i
const address_form = /^0x[0-9a-f]{40}$/i

/** One line of the search. `about`: what it is. */
export interface Found {
  name: string
  about: string
  icon: LucideIcon
  open(): void
}

/** What the service knows by this text, and the list of those transactions. `isKnown`: it has answered for exactly this text. */
export function useFound(q: string): { found: Found[]; lists: Found[]; isKnown: boolean; error: unknown } {
  const { client } = useSession()
  const symbolOf = useSymbolsOfRelayers()
  const [, go] = useLocation()
  const others = useOthers(q)
  const [asked, setAsked] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setAsked(q), pause_ms)
    return () => clearTimeout(timer)
  }, [q])
  const nonce = nonce_form.exec(asked)?.[1]
  const search = useQuery({
    queryKey: ['search', asked],
    queryFn: async ({ signal }) => (await client.get('/api/v1/search', { query: { q: nonce ?? asked }, signal })).data,
    enabled: asked !== '',
  })
  const isKnown = asked === q && search.data !== undefined
  if (q === '' || !isKnown) return { found: [], lists: [], isKnown, error: search.error }
  const results = search.data.filter((its) => nonce === undefined || its.nonce === Number(nonce))
  const list = listOf(q, results)
  const leads = ({ to, ...its }: Omit<Found, 'open'> & { to: string }): Found => ({ ...its, open: () => go(to) })
  return {
    found: [...results.map((result) => leads(itemOf(result, symbolOf))), ...others.map(leads)],
    lists: list === undefined ? [] : [leads({ ...list, about: 'list', icon: ArrowLeftRight })],
    isKnown,
    error: search.error,
  }
}

/** Pools, sponsorships and API keys are few: they are searched here. */
function useOthers(q: string) {
  const pools = usePools()
  const sponsorships = useSponsorships()
  const keys = useApiKeys()
  return [
    ...(pools.data ?? []).map(({ id, name }) => ({ id, name, about: 'pool', icon: Layers, to: poolPath(id) })),
    ...(sponsorships.data ?? []).map(({ id }) => ({
      ...{ id, name: id, about: 'sponsorship', icon: Gift, to: '/sponsorships' },
    })),
    ...(keys.data ?? []).map(({ id, name }) => ({ id, name, about: 'API key', icon: Key, to: '/keys' })),
  ].filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(q.toLowerCase()))
}

/** The list of transactions that have exactly this text; undefined: none has. */
function listOf(q: string, results: SearchResult[]): { name: string; to: string } | undefined {
  const to = `/transactions/all/${encoded(q)}`
  if (address_form.test(q)) return { name: `All transactions to ${short(q)}`, to }
  const isExact = results.some(({ kind, reference }) => kind === 'transaction' && reference === q)
  return isExact ? { name: `All transactions with ${q}`, to } : undefined
}

const icons: Partial<Record<SearchResult['kind'], LucideIcon>> = {
  relayer: Wallet,
  network: Network,
  signer: KeyRound,
  notification: Bell,
  abi: FileCode2,
  transaction: Send,
}

function itemOf(result: SearchResult, symbolOf: (relayer_id: string) => string) {
  const { kind, id, relayer_id, name, nonce, reference, value } = result
  const its = { to: pathOf(result), icon: icons[kind] ?? ArrowRight }
  const of = kind === 'abi' ? 'ABI' : kind
  if (relayer_id === null) return { ...its, name: id, about: name === null || name === id ? of : `${of}, ${name}` }
  return {
    ...its,
    name: [relayer_id, nonce === null ? 'no nonce yet' : `nonce ${nonce}`, words(name ?? '')].join(' · '),
    about: [...(reference === null ? [] : [reference]), fixed(value ?? '0', symbolOf(relayer_id), 6)].join(' · '),
  }
}

function pathOf({ kind, id, relayer_id }: SearchResult): string {
  if (kind === 'transaction') return transactionPath({ relayer_id: relayer_id ?? '', id })
  if (kind === 'relayer') return relayerPath(id)
  if (kind === 'signer') return '/signers'
  return kind === 'notification' ? `/notifications/${encodeURIComponent(id)}` : '/networks'
}
