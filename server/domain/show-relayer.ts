import type { Relayer } from '../../generated/openapi.ts'
import type { RelayerRow } from './rows.ts'

/** Stands for what is not shown of an RPC URL. */
export const mask = '***'

/** Masks RPC URLs for responses. Providers put API keys into paths and queries, so only the host is shown. */
export const showRpcUrls = <T extends { url: string }>(rpcUrls: readonly T[]): T[] =>
  rpcUrls.map((rpcUrl) => {
    const { origin, pathname, search, hash } = new URL(rpcUrl.url)
    const bare = pathname === '/' && search === '' && hash === ''
    return { ...rpcUrl, url: bare ? origin : `${origin}/${mask}` }
  })

/** A relayer's row as the contract shows it, in responses and in events. */
export function showRelayer({
  row_id: _,
  chain_id: __,
  funding: ___,
  coin_token: ____,
  ...relayer
}: RelayerRow): Relayer {
  const notificationId = relayer.notification_ids[0] ?? null
  return { ...relayer, notification_id: notificationId, custom_rpc_urls: showRpcUrls(relayer.custom_rpc_urls) }
}
