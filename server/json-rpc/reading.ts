import type { RpcAnswer } from '../../generated/openapi.ts'
import type { Handlers } from '../core/operation.ts'
import type { RelayerRow } from '../core/rows.ts'
import type { Context, Method } from './context.ts'
import { codes, JsonRpcError } from './errors.ts'
import { partsOf } from './signing.ts'
import type { createTurns } from './turns.ts'

export interface ReadingDependencies {
  operations: Pick<Handlers, 'callRpc'>
  /** The methods that go to the nodes. */
  readable: ReadonlySet<string>
  /** The bytes of a revert in a node's error; null: it reverts without bytes; undefined: the error is no revert. */
  revertIn(error: object): string | null | undefined
  inTurn: ReturnType<typeof createTurns>
  /** The nonce that the relayer's next transaction gets. */
  nextNonce(relayer: RelayerRow): Promise<number>
  client_version: string
}

type ReadMethod = NonNullable<Parameters<Handlers['callRpc']>[0]['body']['method']>

/** Asks a node. Throws JsonRpcError with the node's error. */
export type AskNode = (context: Context, method: string, params: unknown[]) => Promise<unknown>

export function createAskNode({ operations, revertIn, inTurn }: ReadingDependencies): AskNode {
  return (context, method, params) =>
    inTurn(context.request.caller.id, () =>
      context.as('callRpc', 200, async (auditEntry) => {
        const body = { jsonrpc: '2.0', method: method as ReadMethod, params } as const
        const { data } = await operations.callRpc({ ...partsOf(context), auditEntry, body })
        if (data.error) throw asNodes(data.error)
        return data.result ?? null
      }),
    )

  function asNodes({ code, message, data }: NonNullable<RpcAnswer['error']>): JsonRpcError {
    const revert = revertIn({ code, message, data })
    // Nodes answer a revert with many codes; libraries decode it from this one.
    if (revert !== undefined) return new JsonRpcError(codes.reverted, message, revert ?? '0x')
    return new JsonRpcError(code, message, data)
  }
}

/** The methods that the relayer answers itself without signing anything. */
export function readingMethods(dependencies: ReadingDependencies, askNode: AskNode): Record<string, Method> {
  const { readable, nextNonce, client_version } = dependencies
  const accounts: Method = async ({ relayer }) => [relayer.address]

  const toNode = Object.fromEntries(
    [...readable].map((method): [string, Method] => [method, (context) => askNode(context, method, context.params)]),
  )

  return {
    ...toNode,
    eth_accounts: accounts,
    eth_requestAccounts: accounts,
    eth_chainId: async ({ relayer }) => hex(relayer.chain_id),
    net_version: async ({ relayer }) => relayer.chain_id.toString(),
    web3_clientVersion: async () => client_version,

    async eth_getTransactionCount(context) {
      const [account, block] = context.params
      const isOwn = typeof account === 'string' && account.toLowerCase() === context.relayer.address
      if (!isOwn || block !== 'pending') return askNode(context, 'eth_getTransactionCount', context.params)
      return context.as('getNonce', 200, async () => hex(await nextNonce(context.relayer)))
    },
  }
}

const hex = (number: number): string => `0x${number.toString(16)}`
