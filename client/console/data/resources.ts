import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Problem, Relayer, RelayerClient } from '../../index.ts'
import { dataQuery, useAnswer, useEveryPage, useGet } from './get.ts'
import { paths } from './paths.ts'
import { useSession } from './session.tsx'

const listMs = 5_000
/** Relayers change less often than their queues. */
const relayersMs = 15_000
const nodesMs = 10_000
const statusMs = 30_000
/** Of what changes only when somebody changes it. */
const namesMs = 60_000
const maxProblems = 200
/** A list of at most so many, as one page. */
const whole = { query: { per_page: 1_000 } }

/** Everything that needs attention, of all that the API key may see: the service finds it. */
export const useProblems = () =>
  useAnswer('/api/v1/problems', { query: { per_page: maxProblems } }, { pollMs: listMs, scope: 'read' })

export const isOpenProblem = ({ kind, acknowledgement }: Pick<Problem, 'kind' | 'acknowledgement'>) =>
  kind !== 'unchecked' && acknowledgement === null

/** The number of problems that nobody deals with. */
export const useOpenProblems = (): number => useProblems().data?.data.filter(isOpenProblem).length ?? 0

/** All relayers that the API key may see. */
export const useRelayers = () => useEveryPage('/api/v1/relayers', {}, { pollMs: relayersMs, scope: 'read' })

/** What was done to a relayer. Where it is shown by itself, its badge has its health. */
export const relayerState = ({ system_disabled, paused }: Pick<Relayer, 'system_disabled' | 'paused'>) =>
  system_disabled ? 'disabled' : paused ? 'paused' : 'active'

/** What a problem makes of a relayer's state, the worst first. Its network's stands between its own and what that one causes. */
const relayerHealth: [word: string, kinds: Problem['kind'][]][] = [
  ['no funds', ['balance_empty']],
  ['low funds', ['balance_low']],
  ['waits for network', ['network_down', 'network_still']],
  ['blocked', ['transaction_waiting', 'nonces']],
  ['not refilled', ['funding']],
  ['refusing', ['requests_refused']],
  ['slow', ['transaction_slow']],
]
const networkHealth: Partial<Record<Problem['kind'], string>> = { network_down: 'down', network_still: 'no new blocks' }

/** The state of relayers as their badges show it: `active` only without a problem, by the service's list of problems. */
export function useHealthOf(): (relayer: Relayer) => string {
  const problems = useProblems().data?.data
  return useMemo(() => {
    const kinds = new Map<string, Set<Problem['kind']>>()
    for (const { relayer_id, network_id, kind } of problems ?? []) {
      const place = relayer_id ?? network_id ?? ''
      kinds.set(place, (kinds.get(place) ?? new Set()).add(kind))
    }
    return (relayer) => {
      const state = relayerState(relayer)
      const its = [kinds.get(relayer.id), kinds.get(`evm:${relayer.network}`)]
      const found = relayerHealth.find(([, some]) => its.some((one) => some.some((kind) => one?.has(kind))))
      return state === 'active' && found ? found[0] : state
    }
  }, [problems])
}

/** The same, by the relayer's ID; undefined: no such relayer is known, or not yet. */
export function useHealthOfId(): (relayerId: string) => string | undefined {
  const relayers = useRelayers().data
  const healthOf = useHealthOf()
  return useMemo(() => {
    const health = new Map(relayers?.map((relayer) => [relayer.id, healthOf(relayer)]))
    return (relayerId) => health.get(relayerId)
  }, [relayers, healthOf])
}

/** What is wrong with a network; undefined: nothing that the service knows. */
export function useNetworkState(): (network: { id: string }) => string | undefined {
  const problems = useProblems().data?.data ?? []
  return ({ id }) => {
    const its = problems.find(({ network_id, kind }) => network_id === id && networkHealth[kind] !== undefined)
    return its && networkHealth[its.kind]
  }
}

/** Whether the chain of the network makes no blocks: no price helps then. */
export const useIsStill = (network: string | undefined): boolean =>
  useProblems().data?.data.some(
    ({ kind, network_id }) => kind === 'network_still' && network_id === `evm:${network}`,
  ) ?? false

/** The problem of a queue that is stuck; undefined: it is not. */
export const useStuck = (relayerId: string): Problem | undefined =>
  useProblems().data?.data.find(
    ({ kind, ...one }) =>
      one.relayer_id === relayerId && (kind === 'transaction_waiting' || kind === 'transaction_slow'),
  )

/** All relayers with their queues. */
export function useRelayersWithQueues() {
  const relayers = useRelayers()
  const queues = useEveryPage('/api/v1/queues', {}, { pollMs: listMs })
  const data = useMemo(() => {
    if (!relayers.data || !queues.data) return undefined
    const queueOf = new Map(queues.data.map((queue) => [queue.relayer_id, queue]))
    return relayers.data.map((relayer) => ({ relayer, queue: queueOf.get(relayer.id) }))
  }, [relayers.data, queues.data])
  return {
    data,
    error: relayers.error ?? queues.error,
    dataUpdatedAt: Math.min(relayers.dataUpdatedAt, queues.dataUpdatedAt),
  }
}

/** The state of a relayer, with its balance. */
export const useStatus = (relayerId: string, pollMs = statusMs) =>
  useGet('/api/v1/relayers/{relayer_id}/status', { path: { relayer_id: relayerId } }, { pollMs })

export const statusQuery = (client: RelayerClient, relayerId: string, pollMs: number) =>
  dataQuery(client, '/api/v1/relayers/{relayer_id}/status', { path: { relayer_id: relayerId } }, { pollMs })

export const useNetworks = () => useGet('/api/v1/networks', whole, { pollMs: nodesMs, scope: 'read' })

/** The symbol of a network's currency. */
export function useSymbols(): (network: string | undefined) => string {
  const { data = [] } = useNetworks()
  return (network) => data.find(({ name }) => name === network)?.symbol ?? 'coins'
}

/** The symbols of the currencies that relayers pay with, for many at once. */
export function useSymbolsOfRelayers(): (relayerId: string) => string {
  const relayers = useRelayers().data
  const networks = useNetworks().data
  return useMemo(() => {
    const symbols = new Map(networks?.map(({ name, symbol }) => [name, symbol]))
    const its = new Map(relayers?.map(({ id, network }) => [id, symbols.get(network)]))
    return (relayerId) => its.get(relayerId) ?? 'coins'
  }, [relayers, networks])
}

/** The symbol of the currency that a relayer pays with. */
export function useSymbolOf(relayerId: string): string {
  const symbolOf = useSymbols()
  return symbolOf(useNetworkOf(relayerId))
}

/** The page of the network's explorer (EIP-3091) about a transaction, an address or a block; undefined: the network has none. */
export function useExplorer(
  network: string | undefined,
): (kind: 'tx' | 'address' | 'block', value: string) => string | undefined {
  const { data = [] } = useNetworks()
  const [base] = data.find(({ name }) => name === network)?.explorer_urls ?? []
  return (kind, value) =>
    base === undefined || !/^https?:\/\//i.test(base) ? undefined : `${base.replace(/\/+$/, '')}/${kind}/${value}`
}

export const useRelayer = (relayerId: string, pollMs?: number) =>
  useGet('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayerId } }, { ...(pollMs && { pollMs }) })

/** The network of a relayer. */
export const useNetworkOf = (relayerId: string): string | undefined =>
  useGet(
    '/api/v1/relayers/{relayer_id}',
    { path: { relayer_id: relayerId } },
    { scope: 'read', isEnabled: relayerId !== '' },
  ).data?.network

export function useNodes(networkIds: string[]) {
  const { client } = useSession()
  return useQueries({
    queries: networkIds.map((networkId) =>
      dataQuery(
        client,
        '/api/v1/networks/{network_id}/nodes',
        { path: { network_id: networkId } },
        { pollMs: nodesMs },
      ),
    ),
  })
}

export const useNotifications = () =>
  useGet('/api/v1/notifications', whole, { pollMs: nodesMs, scope: 'notifications' })

/** `pollMs`: of a page that shows them. */
export const usePools = (pollMs?: number) =>
  useGet('/api/v1/pools', whole, { ...(pollMs && { pollMs }), isEnabled: useSession().mayReadAll })

export const useSponsorships = (pollMs?: number) =>
  useGet('/api/v1/sponsorships', whole, { ...(pollMs && { pollMs }), isEnabled: useSession().mayReadAll })

export const useFacilitators = (pollMs?: number) =>
  useGet('/api/v1/facilitators', whole, { ...(pollMs && { pollMs }), isEnabled: useSession().mayReadAll })

export const useApiKeys = () => useGet('/api/v1/api-keys', whole, { isEnabled: useSession().caller.may_administer })

export const useSigners = () =>
  useGet('/api/v1/signers', whole, { isEnabled: useSession().mayManageAll, freshMs: namesMs })

export const useAbis = () => useGet('/api/v1/abis', whole, { scope: 'read', freshMs: namesMs })

/** The ABI of a contract that the service has, without its entries. */
export function useAbiOf(network: string | undefined, address: string) {
  const { data, isLoading } = useAbis()
  const wanted = address.toLowerCase()
  return { abi: data?.find((one) => one.network === network && one.address.toLowerCase() === wanted), isLoading }
}

/** The entries of an ABI. */
export const useAbiEntries = (abiId: string | undefined): string[] | undefined =>
  useGet(
    '/api/v1/abis/{abi_id}',
    { path: { abi_id: abiId ?? '' } },
    { isEnabled: abiId !== undefined, freshMs: Number.POSITIVE_INFINITY },
  ).data?.abi

export const useNetworkNames = (): string[] => useNetworks().data?.map(({ name }) => name) ?? []

export const useHealth = (notificationId: string, pollMs = nodesMs) =>
  useGet('/api/v1/notifications/{notification_id}/health', { path: { notification_id: notificationId } }, { pollMs })

/** Whether no transaction was ever accepted; undefined: not known yet. Once there is one, the steps are done. */
export function useIsUnused(): boolean | undefined {
  const { data } = useAnswer(
    '/api/v1/transactions',
    { query: { per_page: 1 } },
    { pollMs: (answer) => (answer && isUsed(answer) ? false : listMs), isEnabled: useSession().mayManageAll },
  )
  return data && !isUsed(data)
}

const isUsed = ({ pagination }: { pagination: { total_items: number } }) => pagination.total_items > 0

/** The last days, or a calendar month. */
export type SpendingFilter = ({ days: number } | { calendar_month: string }) & { network?: string }

const options = { pollMs: 30_000, keepsPrevious: true }

/** What every relayer spent in these days. */
export const useSpending = (filter: SpendingFilter) => useEveryPage('/api/v1/spending', { query: filter }, options)

/** What the transactions of every API key cost in these days. */
export const useSpendingByKey = (filter: SpendingFilter) =>
  useEveryPage('/api/v1/spending/callers', { query: filter }, options)

export interface AddressName {
  name: string
  kind: 'relayer' | 'signer' | 'contract'
  /** The page about it. */
  to: string
}

/** Callers without a name of their own: the key of the setting `API_KEY`, and a command on the service's machine. */
const callers: Record<string, string> = { environment: 'environment key', command_line: 'command line' }

/** What made a request, where it has no name of its own. */
export const callerName = (caller: string): string => callers[caller] ?? caller

/** What the service calls it, of what a reader typed. */
export const callerOf = (typed: string): string =>
  Object.keys(callers).find((one) => callerName(one) === typed.toLowerCase()) ?? typed

/** What the service knows addresses as, in lower case: the relayer, the signer or the contract. */
export function useAddressBook(): ReadonlyMap<string, AddressName> {
  const relayers = useRelayers().data
  const signers = useSigners().data
  const abis = useAbis().data
  return useMemo(() => {
    const names = new Map<string, AddressName>()
    for (const { address, name } of abis ?? [])
      names.set(address.toLowerCase(), { name, kind: 'contract', to: paths.networks })
    for (const { address, id } of signers ?? [])
      names.set(address.toLowerCase(), { name: id, kind: 'signer', to: paths.signers })
    for (const { address, id } of relayers ?? [])
      names.set(address.toLowerCase(), { name: id, kind: 'relayer', to: paths.relayer(id) })
    return names
  }, [relayers, signers, abis])
}

/** What the service knows one address as. */
export function useAddressNames(): (address: string) => AddressName | undefined {
  const book = useAddressBook()
  return (address) => book.get(address.toLowerCase())
}

/** The symbol of amounts in coins of no network in particular. */
export function useCoinSymbol(): string {
  const symbols = useCoinSymbols()
  return symbols.length === 1 ? (symbols[0] ?? 'coins') : 'coins'
}

/** The symbols of the networks' coins, each once; `coins` where a network has none. */
export const useCoinSymbols = (): string[] => [...new Set(useNetworks().data?.map(({ symbol }) => symbol ?? 'coins'))]
