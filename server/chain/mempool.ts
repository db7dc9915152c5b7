import type { PrivateRpcUrl } from '../../generated/openapi.ts'
import { toHex } from '../domain/encoding/digest.ts'
import { isSending, sendingMethod } from './answer-limits.ts'
import type { Endpoint } from './endpoint.ts'
import type { Gas } from './gas.ts'
import { call, type Rpc, RpcUnavailable } from './rpc.ts'

/**
 * Where signed bytes wait for a block: in the pools of the network's nodes, or at private relays. Only it is sent bytes, asked for the
 * hash of a transaction that is in no block, and told its content.
 */
export class Mempool {
  readonly #rpc: Rpc
  readonly gas: Gas
  /** After so many blocks every node of it has dropped a transaction that is in none of them; undefined: no such rule. */
  readonly private_expiry_blocks: number | undefined

  /** `privateExpiryBlocks`: of relays, which all get the bytes, because each reaches other builders; undefined: of nodes. */
  constructor(rpc: Rpc, gas: Gas, privateExpiryBlocks?: number) {
    this.#rpc = rpc
    this.gas = gas
    this.private_expiry_blocks = privateExpiryBlocks
  }

  /** Each in the order given; undefined where a node has taken it. `isEverywhere`: every healthy node gets them. */
  send(raws: Uint8Array[], isEverywhere = false): Promise<(Error | undefined)[]> {
    const options = { everywhere: isEverywhere || this.private_expiry_blocks !== undefined }
    const send = (raw: Uint8Array) => call(this.#rpc, sendingMethod, [toHex(raw)], options)
    return Promise.all(
      raws.map((raw) =>
        send(raw).then(
          () => undefined,
          (error: Error) => error,
        ),
      ),
    )
  }

  /** Whether a node says that it has a transaction of this hash, in its pool or in a block; false also when none answers. */
  isKnown(hash: string): Promise<boolean> {
    return call(this.#rpc, 'eth_getTransactionByHash', [hash]).then(
      (found) => found !== null,
      () => false,
    )
  }
}

/** Of a network without private relays: its transactions wait. */
export const withoutRelays: Rpc = () => Promise.reject(new RpcUnavailable('The network has no private_rpc_urls'))

/** Sends transactions in the way of a private relay. `height`: of the chain; undefined: not known yet. */
export function toRelay(
  endpoint: Endpoint,
  { method, private_expiry_blocks }: PrivateRpcUrl,
  height: () => number | undefined,
): Endpoint {
  if (method === sendingMethod) return endpoint
  const ask = endpoint.ask.bind(endpoint)
  endpoint.ask = (calls) =>
    ask(
      calls.map((call) => {
        if (!isSending(call)) return call
        const newest = height()
        const maxBlockNumber =
          newest === undefined ? {} : { maxBlockNumber: `0x${(newest + private_expiry_blocks).toString(16)}` }
        return { ...call, method, params: [{ tx: call.params[0], ...maxBlockNumber }] }
      }),
    )
  return endpoint
}
