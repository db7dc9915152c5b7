import type { Relayer } from '../../generated/openapi.ts'
import type { RelayerRow } from './rows.ts'
import { showRpcUrls } from './values.ts'

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
