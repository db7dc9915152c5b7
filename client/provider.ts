import { isUnknown } from './call.ts'
import type { JsonRpcAnswer, RelayerClient } from './index.ts'
import { pause } from './pause.ts'

const path = '/api/v1/relayers/{relayer_id}/rpc'
const maxTries = 4
const betweenTriesMs = 500
const sending: ReadonlySet<string> = new Set(['eth_sendTransaction', 'wallet_sendTransaction'])

export interface RequestArguments {
  method: string
  params?: readonly unknown[] | object
}

/** An EIP-1193 provider. It has no subscriptions and changes neither its account nor its chain, so it emits no events. */
export interface RelayerProvider {
  request(call: RequestArguments): Promise<unknown>
  on(event: string, listener: (...values: unknown[]) => void): RelayerProvider
  removeListener(event: string, listener: (...values: unknown[]) => void): RelayerProvider
}

/** EIP-1193's error: `code` and `data` are those of the JSON-RPC error. */
export class ProviderRpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data }: { code: number; message: string; data?: unknown }) {
    super(message)
    this.name = 'ProviderRpcError'
    this.code = code
    this.data = data
  }
}

/**
 * An EIP-1193 provider over a relayer's JSON-RPC endpoint. Each transaction is sent under an Idempotency-Key of its own: a request
 * without a response is repeated, and nothing is sent twice. A refused call throws ProviderRpcError; any other failure is thrown as
 * by the client.
 */
export function createRelayerProvider(client: RelayerClient, relayerId: string): RelayerProvider {
  let id = 0
  const provider: RelayerProvider = {
    async request({ method, params = [] }) {
      id += 1
      const input = {
        path: { relayer_id: relayerId },
        body: { jsonrpc: '2.0', id, method, params },
        ...(sending.has(method) && { header: { 'Idempotency-Key': crypto.randomUUID() } }),
      }
      const { result, error } = await repeated(async () => (await client.post(path, input)) as JsonRpcAnswer)
      if (error) throw new ProviderRpcError(error)
      return result
    },
    on: () => provider,
    removeListener: () => provider,
  }
  return provider
}

async function repeated<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call()
    } catch (error) {
      if (tries >= maxTries || !isUnknown(error)) throw error
      await pause(betweenTriesMs)
    }
  }
}
