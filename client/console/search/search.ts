import { useQuery } from '@tanstack/react-query'
import {
  ArrowLeftRight,
  ArrowRight,
  Bell,
  FileCode2,
  Gift,
  HandCoins,
  Key,
  KeyRound,
  Layers,
  type LucideIcon,
  Network,
  Send,
  Wallet,
} from 'lucide-react'
import { useEffect, useState } from 'react'
import { getAddress } from 'viem'
import { useLocation } from 'wouter'
import type { SearchResult, Transaction } from '../../index.ts'
import { otherName, transactionName } from '../components/values.tsx'
import { fixed, short } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import {
  useApiKeys,
  useFacilitators,
  useHealthOfId,
  usePools,
  useRelayers,
  useSponsorships,
  useSymbolsOfRelayers,
} from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { isSlow, type Tone } from '../data/statuses.ts'
import { age } from '../data/times.ts'
import { withReference } from '../transactions/transaction-filter.ts'

/** How long the reader has to stop before the service is asked. */
const pauseMs = 250
const addressForm = /^0x[0-9a-f]{40}$/i
/** The most digits of a long value that are shown, since they were typed. */
const shownDigits = 20

/** One line of the search. `about`: what it is. */
export interface Found {
  name: string
  about: string
  icon: LucideIcon
  /** The color of the icon. */
  tone?: Tone
  /** What the text was found in, if that is not the name. */
  detail?: string
  amount?: string
  state?: string
  /** For how long it lasts, if that is too long. */
  waited?: string
  /** The address of its page. */
  to?: string
  open(): void
}

/** What leads to a page. */
type Lead = Omit<Found, 'open'> & { to: string }

/** What is opened by going to its page. */
export function useLeads(): (lead: Lead) => Found {
  const [, go] = useLocation()
  return (lead) => ({ ...lead, open: () => go(lead.to) })
}

/** One nonce of a relayer, also as results are named: `mint-1 nonce 50`, `mint-1 · nonce 50`, `mint-1 #50`. */
const relayerNonce = /^(.*[^\s·])[\s·]+(?:nonce\s+|#)(\d{1,15})$/i

const isSame = (text: string, ...names: string[]) => names.some((one) => one.toLowerCase() === text.toLowerCase())

/** What a search answers. */
interface Answer {
  data: SearchResult[]
  pagination: { total_items: number }
}

/** A transaction as the search has it, which was found by its nonce. */
const resultOf = ({ id, relayer_id, status, nonce, reference, value, created_at }: Transaction): SearchResult => ({
  ...{ kind: 'transaction', id, relayer_id, name: status, nonce, reference, value, created_at },
  ...{ found_by: 'nonce', matched: `${nonce}` },
})

/**
 * What the service knows by this text, and the list of those transactions. `isKnown`: it has answered for exactly this text. `total`: how many it
 * has found at least; it names the first of them.
 */
export function useSearchResults(q: string) {
  const { client } = useSession()
  const symbolOf = useSymbolsOfRelayers()
  const stateOf = useHealthOfId()
  const leads = useLeads()
  const others = useOthers(q)
  const [asked, setAsked] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setAsked(q), pauseMs)
    return () => clearTimeout(timer)
  }, [q])
  const relayers = useRelayers().data
  const search = useQuery({
    queryKey: ['search', asked],
    queryFn: async ({ signal }): Promise<Answer> => {
      const [, name = '', digits] = relayerNonce.exec(asked) ?? []
      const relayer = relayers?.find(({ id, name: its }) => isSame(name, id, its))
      if (!relayer) return client.get('/api/v1/search', { query: { q: asked }, signal })
      const path = { relayer_id: relayer.id }
      const query = { nonce_from: Number(digits), nonce_to: Number(digits) }
      const list = '/api/v1/relayers/{relayer_id}/transactions/'
      const { data, pagination } = await client.get(list, { path, query, signal })
      return { data: data.map(resultOf), pagination }
    },
    enabled: asked !== '',
  })
  const isKnown = asked === q && search.data !== undefined
  if (q === '' || !isKnown) return { found: [], lists: [], total: 0, isKnown, error: search.error }
  const { data: results, pagination } = search.data
  const list = listOf(q, results)
  return {
    found: [...results.map((result) => itemOf(result, q, symbolOf, stateOf)), ...others].map(leads),
    lists: list === undefined ? [] : [leads({ ...list, about: 'list', icon: ArrowLeftRight })],
    total: pagination.total_items + others.length,
    isKnown,
    error: search.error,
  }
}

/** Pools, sponsorships, facilitators and API keys are few: they are searched here. */
function useOthers(q: string): Lead[] {
  const pools = usePools()
  const sponsorships = useSponsorships()
  const facilitators = useFacilitators()
  const keys = useApiKeys()
  return [
    ...(pools.data ?? []).map(({ id, name }) => ({ id, name, about: 'pool', icon: Layers, to: paths.pool(id) })),
    ...(sponsorships.data ?? []).map(({ id, paused }) => ({
      ...{ id, name: id, about: 'sponsorship', icon: Gift, to: paths.sponsorships },
      state: paused ? 'paused' : 'active',
    })),
    ...(facilitators.data ?? []).map(({ id }) => ({
      ...{ id, name: id, about: 'facilitator', icon: HandCoins, to: paths.facilitator(id) },
    })),
    ...(keys.data ?? []).map(({ id, name }) => ({ id, name, about: 'API key', icon: Key, to: paths.apiKey(id) })),
  ].filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(q.toLowerCase()))
}

/** The list of the transactions that were found, if that shows more of them: of those with exactly this text where there are some. */
function listOf(q: string, results: SearchResult[]): { name: string; to: string } | undefined {
  const of = (name: string, text = q) => ({
    name: `All transactions ${name}`,
    to: paths.group(paths.transactions, 'all', text),
  })
  if (addressForm.test(q)) return of(`to ${short(q)}`)
  const its = results.filter(({ kind }) => kind === 'transaction')
  if (its.some(({ reference }) => reference === q)) return of(`with ${q}`, withReference(q))
  return its.length > 1 ? of(`found by “${q}”`) : undefined
}

const icons: Partial<Record<SearchResult['kind'], LucideIcon>> = {
  relayer: Wallet,
  network: Network,
  signer: KeyRound,
  notification: Bell,
  abi: FileCode2,
  transaction: Send,
}

function itemOf(
  result: SearchResult,
  q: string,
  symbolOf: (relayerId: string) => string,
  stateOf: (relayerId: string) => string | undefined,
): Lead {
  const { kind, id, relayer_id, name, value, created_at, found_by, matched } = result
  const its = { to: pathOf(result), icon: icons[kind] ?? ArrowRight, about: kind === 'abi' ? 'ABI' : kind }
  if (relayer_id === null) {
    const state = kind === 'relayer' ? stateOf(id) : undefined
    const detail = found_by === 'address' ? shortened(matched, q) : name === id ? '' : (name ?? '')
    return { ...its, name: id, detail, ...(state !== undefined && { state }) }
  }
  const label = labels[found_by]
  return {
    ...its,
    name: transactionName(result),
    detail: label === undefined ? (otherName(result) ?? '') : `${label}${shortened(matched, q)}`,
    amount: fixed(value ?? '0', symbolOf(relayer_id)),
    state: name ?? '',
    ...(created_at !== null && isSlow({ status: name ?? '', created_at }) && { waited: age(created_at) }),
  }
}

/** What the value is that a transaction was found by, if its names do not have it. */
const labels: Partial<Record<SearchResult['found_by'], string>> = {
  ...{ id: 'ID ', hash: 'hash ', receiver: 'to ', metadata: '' },
}

/** A long value with the digits that were typed. */
function shortened(value: string, q: string): string {
  if (!/^(?:0x)?[0-9a-f-]{32,}$/i.test(value)) return value
  const digits = Math.min(Math.max(q.length, 6), shownDigits)
  const whole = addressForm.test(value) ? getAddress(value) : value
  return `${whole.slice(0, digits)}…${whole.slice(-4)}`
}

function pathOf({ kind, id, relayer_id }: SearchResult): string {
  if (kind === 'transaction') return paths.transaction({ relayer_id: relayer_id ?? '', id })
  if (kind === 'relayer') return paths.relayer(id)
  if (kind === 'signer') return paths.signers
  return kind === 'notification' ? paths.notification(id) : paths.networks
}
