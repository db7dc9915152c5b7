import { useQueries, useQuery } from '@tanstack/react-query'
import type { RelayerStatus } from '../../index.ts'
import { useSession } from './session.tsx'

const list_ms = 5_000
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

/** All relayers, to choose one by its id. */
export const useRelayerIds = () => {
  const { client, may } = useSession()
  return useQuery({
    queryKey: ['relayer-ids'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/relayers', { query: { per_page: 1_000 }, signal })).data,
    enabled: may('read'),
  })
}

/** A page of relayers with their queues; both lists have the same order. */
export function useRelayers(page: number, per_page: number) {
  const { client } = useSession()
  const query = { page, per_page }
  return useQuery({
    queryKey: ['relayers', page],
    queryFn: async ({ signal }) => {
      const [{ data: relayers, pagination }, { data: queues }] = await Promise.all([
        client.get('/api/v1/relayers', { query, signal }),
        client.get('/api/v1/queues', { query, signal }),
      ])
      const queueOf = new Map(queues.map((queue) => [queue.relayer_id, queue]))
      return { rows: relayers.map((relayer) => ({ relayer, queue: queueOf.get(relayer.id) })), pagination }
    },
    refetchInterval: list_ms,
    placeholderData: (before) => before,
  })
}

/** The states of relayers by id, as far as they are known. */
export function useStatuses(ids: string[]): Map<string, RelayerStatus> {
  const { client } = useSession()
  const statuses = useQueries({
    queries: ids.map((relayer_id) => ({
      queryKey: ['status', relayer_id],
      queryFn: async ({ signal }: { signal: AbortSignal }): Promise<RelayerStatus> =>
        (await client.get('/api/v1/relayers/{relayer_id}/status', { path: { relayer_id }, signal })).data,
      refetchInterval: status_ms,
    })),
  })
  return new Map(ids.flatMap((id, index) => (statuses[index]?.data ? [[id, statuses[index].data]] : [])))
}

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
  return (network) => data.find(({ name }) => name === network)?.symbol ?? 'ether'
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

export const useHealths = (notification_ids: string[]) => {
  const { client } = useSession()
  return useQueries({
    queries: notification_ids.map((notification_id) => ({
      queryKey: ['health', notification_id],
      queryFn: async ({ signal }: { signal: AbortSignal }) =>
        (await client.get('/api/v1/notifications/{notification_id}/health', { path: { notification_id }, signal }))
          .data,
      refetchInterval: nodes_ms,
    })),
  })
}
