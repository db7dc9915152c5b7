import { useQueries, useQuery } from '@tanstack/react-query'
import type { NonceState, RelayerStatus } from '../../index.ts'
import { useSession } from './session.tsx'
import { troublesOf } from './troubles.ts'

/** Limits the relayers whose account is read from the chain, and the networks and notifications whose health is read. */
export const max_examined = 50
const list_ms = 3_000
const examine_ms = 10_000

export const useRelayers = () => {
  const { client } = useSession()
  return useQuery({
    queryKey: ['relayers'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/relayers', { query: { per_page: 1_000 }, signal })).data,
    refetchInterval: list_ms,
  })
}

export const useNetworks = () => {
  const { client, may } = useSession()
  return useQuery({
    queryKey: ['networks'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/networks', { query: { per_page: 1_000 }, signal })).data,
    refetchInterval: examine_ms,
    enabled: may('read'),
  })
}

export const useNodes = (network_ids: string[]) => {
  const { client } = useSession()
  return useQueries({
    queries: network_ids.map((network_id) => ({
      queryKey: ['nodes', network_id],
      queryFn: async ({ signal }: { signal: AbortSignal }) =>
        (await client.get('/api/v1/networks/{network_id}/nodes', { path: { network_id }, signal })).data,
      refetchInterval: examine_ms,
    })),
  })
}

export const useNotifications = () => {
  const { client, may } = useSession()
  return useQuery({
    queryKey: ['notifications'],
    queryFn: async ({ signal }) =>
      (await client.get('/api/v1/notifications', { query: { per_page: 1_000 }, signal })).data,
    refetchInterval: examine_ms,
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
      refetchInterval: examine_ms,
    })),
  })
}

/** The data of the overview. Lists are one request each; accounts, nodes and webhooks are one request per item. */
export function useOverview() {
  const { client } = useSession()
  const relayers = useRelayers()
  const queues = useQuery({
    queryKey: ['queues'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/queues', { query: { per_page: 1_000 }, signal })).data,
    refetchInterval: list_ms,
  })
  const failed = useQuery({
    queryKey: ['failed'],
    queryFn: async ({ signal }) =>
      (await client.get('/api/v1/transactions', { query: { status: ['failed'], per_page: 20 }, signal })).data,
    refetchInterval: list_ms,
  })
  const networks = useNetworks()
  const notifications = useNotifications()
  const examined = (relayers.data ?? []).slice(0, max_examined).map(({ id }) => id)
  const statuses = useQueries({
    queries: examined.map((relayer_id) => ({
      queryKey: ['status', relayer_id],
      queryFn: async ({ signal }: { signal: AbortSignal }): Promise<RelayerStatus> =>
        (await client.get('/api/v1/relayers/{relayer_id}/status', { path: { relayer_id }, signal })).data,
      refetchInterval: examine_ms,
    })),
  })
  const nonces = useQueries({
    queries: examined.map((relayer_id) => ({
      queryKey: ['nonce', relayer_id],
      queryFn: async ({ signal }: { signal: AbortSignal }): Promise<NonceState> =>
        (await client.get('/api/v1/relayers/{relayer_id}/nonce', { path: { relayer_id }, signal })).data,
      refetchInterval: examine_ms,
    })),
  })
  const examinedNetworks = (networks.data ?? []).slice(0, max_examined)
  const nodes = useNodes(examinedNetworks.map(({ id }) => id))
  const examinedNotifications = (notifications.data ?? []).slice(0, max_examined)
  const healths = useHealths(examinedNotifications.map(({ id }) => id))

  const observed = {
    relayers: relayers.data ?? [],
    queues: queues.data ?? [],
    failed: failed.data ?? [],
    statuses: new Map(examined.flatMap((id, index) => pair(id, statuses[index]?.data))),
    nonces: new Map(examined.flatMap((id, index) => pair(id, nonces[index]?.data))),
    networks: examinedNetworks.map((network, index) => ({ network, nodes: nodes[index]?.data ?? [] })),
    notifications: examinedNotifications.flatMap((notification, index) => {
      const health = healths[index]?.data
      return health ? [{ notification, health }] : []
    }),
  }
  return { relayers, queues, networks, notifications, observed, troubles: troublesOf(observed) }
}

const pair = <T>(id: string, value: T | undefined): [string, T][] => (value === undefined ? [] : [[id, value]])
