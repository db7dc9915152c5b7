import type { RpcAnswer } from '../../../generated/openapi.ts'
import { revertDataOf } from '../../chain/rpc-error.ts'
import { nextNonce } from '../../services/accounts.ts'
import { readableMethods } from '../http/schema-check.ts'
import { type Context, checked, type JsonRpcDependencies, type Method } from './context.ts'
import { codes, JsonRpcError } from './errors.ts'
import { partsOf } from './signing.ts'

type NodeDependencies = Pick<JsonRpcDependencies, 'operations' | 'contract'>

/** Asks a node. Throws JsonRpcError with the node's error. */
export const askNode = (
  { operations, contract }: NodeDependencies,
  context: Context,
  method: string,
  params: unknown[],
): Promise<unknown> =>
  context.as('callRpc', 200, async (auditEntry) => {
    const body = checked(contract, 'RpcRequest', { jsonrpc: '2.0', method, params })
    const answer = await operations.callRpc({ ...partsOf(context), auditEntry, body })
    if (answer.error) throw asNodes(answer.error)
    return answer.result ?? null
  })

function asNodes({ code, message, data }: NonNullable<RpcAnswer['error']>): JsonRpcError {
  const revert = revertDataOf({ code, message, data })
  // Nodes answer a revert with many codes; libraries decode it from this one.
  if (revert !== undefined) return new JsonRpcError(codes.reverted, message, revert ?? '0x')
  return new JsonRpcError(code, message, data)
}

/** The methods that the relayer answers itself without signing anything. */
export function readingMethods(dependencies: JsonRpcDependencies): Record<string, Method> {
  const { contract } = dependencies
  const accounts: Method = async ({ relayers }) => relayers.map(({ address }) => address)

  const toNode = Object.fromEntries(
    [...readableMethods(contract)].map((method): [string, Method] => [
      method,
      (context) => askNode(dependencies, context, method, context.params),
    ]),
  )

  return {
    ...toNode,
    eth_accounts: accounts,
    eth_requestAccounts: accounts,
    eth_chainId: async ({ relayer }) => hex(relayer.chain_id),
    net_version: async ({ relayer }) => relayer.chain_id.toString(),
    web3_clientVersion: async () => `evm-relayer-service/${contract.info.version}`,

    async eth_getTransactionCount(context) {
      const [account, block] = context.params
      const own = context.relayers.find(
        ({ address }) => typeof account === 'string' && account.toLowerCase() === address,
      )
      if (!own || block !== 'pending') return askNode(dependencies, context, 'eth_getTransactionCount', context.params)
      return context.as('getNonce', 200, async () => hex(await nextNonce(dependencies, own)))
    },
  }
}

const hex = (number: number): string => `0x${number.toString(16)}`
