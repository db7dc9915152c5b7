import { useQueries, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Relayer, RelayerClient, RelayerStatus } from '../../index.ts'
import { everyPage } from './every-page.ts'
import { useSession } from './session.tsx'

const list_ms = 5_000
/** Relayers change less often than their queues. */
const relayers_ms = 15_000
const nodes_ms = 10_000
const status_ms = 30_000
const max_problems = 200

/** Everything that needs attention, of all that the API key may see: the service finds it. */
export const useProblems = () => {
  const { client, may } = useSession()
  return useQuery({
    queryKey: ['problems'],
    queryFn: ({ signal }) => client.get('/api/v1/problems', { query: { per_page: max_problems }, signal }),
    refetchInterval: list_ms,
    enabled: may('read'),
  })
}

/** All relayers that the API key may see. */
export const useRelayerIds = () => {
  const { client, may } = useSession()
  return useQuery({
    queryKey: ['relayers'],
    queryFn: ({ signal }) =>
      everyPage((page) => client.get('/api/v1/relayers', { query: { page, per_page: 1_000 }, signal })),
    refetchInterval: relayers_ms,
    enabled: may('read'),
  })
}

export const relayerState = ({ system_disabled, paused }: Pick<Relayer, 'system_disabled' | 'paused'>) =>
  system_disabled ? 'disabled' : paused ? 'paused' : 'active'

/** All relayers with their queues; both lists have the same order. */
export function useRelayers() {
  const relayers = useRelayerIds()
  const queues = useQueues()
  const data = useMemo(() => {
    if (!relayers.data || !queues.data) return undefined
    const queueOf = new Map(queues.data.map((queue) => [queue.relayer_id, queue]))
    return relayers.data.map((relayer) => ({ relayer, queue: queueOf.get(relayer.id) }))
  }, [relayers.data, queues.data])
  return {
    data,
    error: relayers.error ?? queues.error,
    isPending: data === undefined,
    dataUpdatedAt: Math.min(relayers.dataUpdatedAt, queues.dataUpdatedAt),
  }
}

function useQueues() {
  const { client } = useSession()
  return useQuery({
    queryKey: ['queues'],
    queryFn: ({ signal }) =>
      everyPage((page) => client.get('/api/v1/queues', { query: { page, per_page: 1_000 }, signal })),
    refetchInterval: list_ms,
  })
}

/** The state of a relayer, with its balance. */
export function useStatus(relayer_id: string, refetchInterval = status_ms) {
  const { client } = useSession()
  return useQuery(statusQuery(client, relayer_id, refetchInterval))
}

export const statusQuery = (client: RelayerClient, relayer_id: string, refetchInterval: number) => ({
  queryKey: ['status', relayer_id],
  queryFn: async ({ signal }: { signal: AbortSignal }): Promise<RelayerStatus> =>
    (await client.get('/api/v1/relayers/{relayer_id}/status', { path: { relayer_id }, signal })).data,
  refetchInterval,
})

export const useNetworks = () => {
  const { client, may } = useSession()
  return useQuery({
    queryKey: ['networks'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/networks', { query: { per_page: 1_000 }, signal })).data,
    refetchInterval: nodes_ms,
    enabled: may('read'),
  })
}

/** The symbol of a network's currency. */
export function useSymbols(): (network: string | undefined) => string {
  const { data = [] } = useNetworks()
  return (network) => data.find(({ name }) => name === network)?.symbol ?? 'coins'
}

/** The symbols of the currencies that relayers pay with, for many at once. */
export function useSymbolsOfRelayers(): (relayer_id: string) => string {
  const relayers = useRelayerIds().data
  const networks = useNetworks().data
  return useMemo(() => {
    const symbols = new Map(networks?.map(({ name, symbol }) => [name, symbol]))
    const its = new Map(relayers?.map(({ id, network }) => [id, symbols.get(network)]))
    return (relayer_id) => its.get(relayer_id) ?? 'coins'
  }, [relayers, networks])
}

/** The symbol of the currency that a relayer pays with. */
export function useSymbolOf(relayer_id: string): string {
  const symbolOf = useSymbols()
  return symbolOf(useNetworkOf(relayer_id))
}

/** The page of the network's explorer (EIP-3091) about a transaction or an address; undefined: the network has none. */
export function useExplorer(
  network: string | undefined,
): (kind: 'tx' | 'address', value: string) => string | undefined {
  const { data = [] } = useNetworks()
  const [base] = data.find(({ name }) => name === network)?.explorer_urls ?? []
  return (kind, value) =>
    base === undefined || !/^https?:\/\//i.test(base) ? undefined : `${base.replace(/\/+$/, '')}/${kind}/${value}`
}

/** The network of a relayer. */
export function useNetworkOf(relayer_id: string): string | undefined {
  const { client, may } = useSession()
  const { data } = useQuery({
    queryKey: ['relayer', relayer_id],
    queryFn: async ({ signal }) =>
      (await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id }, signal })).data,
    enabled: may('read') && relayer_id !== '',
  })
  return data?.network
}

export const useNodes = (network_ids: string[]) => {
  const { client } = useSession()
  return useQueries({
    queries: network_ids.map((network_id) => ({
      queryKey: ['nodes', network_id],
      queryFn: async ({ signal }: { signal: AbortSignal }) =>
        (await client.get('/api/v1/networks/{network_id}/nodes', { path: { network_id }, signal })).data,
      refetchInterval: nodes_ms,
    })),
  })
}

export const useNotifications = () => {
  const { client, may } = useSession()
  return useQuery({
    queryKey: ['notifications'],
    queryFn: async ({ signal }) =>
      (await client.get('/api/v1/notifications', { query: { per_page: 1_000 }, signal })).data,
    refetchInterval: nodes_ms,
    enabled: may('notifications'),
  })
}

export const useHealth = (notification_id: string) => {
  const { client } = useSession()
  return useQuery({
    queryKey: ['health', notification_id],
    queryFn: async ({ signal }) =>
      (await client.get('/api/v1/notifications/{notification_id}/health', { path: { notification_id }, signal })).data,
    refetchInterval: nodes_ms,
  })
}

/** `refetchInterval`: of a page that shows them. */
export const usePools = (refetchInterval?: number) => {
  const { client, caller, may } = useSession()
  return useQuery({
    queryKey: ['pools'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/pools', { query: { per_page: 1_000 }, signal })).data,
    refetchInterval: refetchInterval ?? false,
    enabled: may('read') && caller.relayer_ids === null,
  })
}

export const useSponsorships = (refetchInterval?: number) => {
  const { client, caller, may } = useSession()
  return useQuery({
    queryKey: ['sponsorships'],
    queryFn: async ({ signal }) =>
      (await client.get('/api/v1/sponsorships', { query: { per_page: 1_000 }, signal })).data,
    refetchInterval: refetchInterval ?? false,
    enabled: may('read') && caller.relayer_ids === null,
  })
}

export const useApiKeys = () => {
  const { client, caller } = useSession()
  return useQuery({
    queryKey: ['keys'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/api-keys', { query: { per_page: 1_000 }, signal })).data,
    enabled: caller.may_administer,
  })
}
