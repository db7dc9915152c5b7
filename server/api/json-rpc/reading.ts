import { revertDataOf } from '../../chain/rpc-error.ts'
import { contentHash } from '../../domain/attempts.ts'
import { shownSignature } from '../../domain/encoding/envelope.ts'
import { isOfPool } from '../../domain/show.ts'
import { isFinal } from '../../domain/statuses.ts'
import type { AttemptRow, WholeTransactionRow } from '../../domain/transaction-rows.ts'
import { callNode, type NodeAnswer, nextNonce } from '../../services/accounts.ts'
import { type Context, type JsonRpcDependencies, type Method, partsOf } from './context.ts'
import { codes, JsonRpcError } from './errors.ts'

/** The methods that callers may ask a node for. */
export const nodeMethods = [
  'eth_blockNumber',
  'eth_call',
  'eth_chainId',
  'eth_estimateGas',
  'eth_feeHistory',
  'eth_gasPrice',
  'eth_getBalance',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getBlockReceipts',
  'eth_getCode',
  'eth_getLogs',
  'eth_getProof',
  'eth_getStorageAt',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_maxPriorityFeePerGas',
  'net_version',
  'web3_clientVersion',
]

/** Asks a node. Throws JsonRpcError with the node's error. */
const askNode = (
  dependencies: JsonRpcDependencies,
  context: Context,
  method: string,
  params: unknown[],
): Promise<unknown> =>
  context.as('getRelayerStatus', 200, async () => {
    const answer = await callNode(dependencies, partsOf(context).nodes, context.relayer.id, { method, params })
    if (answer.error) throw asNodes(answer.error)
    return answer.result ?? null
  })

export function asNodes({ code, message, data }: NonNullable<NodeAnswer['error']>): JsonRpcError {
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
    nodeMethods.map((method): [string, Method] => [
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
      return context.as('getRelayerNonce', 200, async () => hex(await nextNonce(dependencies, own)))
    },
  }
}

const hex = (number: number): string => `0x${number.toString(16)}`

interface Found {
  blockNumber?: string | null
}

/** The most hashes of a transaction that are looked up; each costs a call of a node. */
const maxAliases = 50

/**
 * A transaction that is signed again at a higher price has several hashes, one of which is mined. A request with any of them returns
 * the mined version, so that a library that waits for a receipt finishes. The response has the hash that is in the chain, because
 * explorers, logs and blocks show no other.
 *
 * Attempts with other content are no aliases. After a replacement or a cancellation the first hash has no receipt, and libraries
 * themselves find the transaction that was mined at its nonce.
 */
export function hashMethods(dependencies: JsonRpcDependencies): Record<string, Method> {
  const { store } = dependencies

  return {
    async eth_getTransactionReceipt(context) {
      const { found } = await search(context)
      return found
    },

    async eth_getTransactionByHash(context) {
      const { found, own } = await search(context)
      if (found !== null || !own) return found
      const { row, given } = own
      // A node drops bytes that it replaced, and receives new ones only after they are stored.
      return !isFinal(row.status) && given.content_hash === contentHash(row) ? pendingForm(row, given) : null
    },
  }

  /**
   * What a node has by the hash that is asked for, or by the hash of an alias that is in a block; null: neither. `own`: the attempts of the
   * transaction. A node's error about the first hash is thrown only when no alias is found.
   */
  async function search(context: Context) {
    const row = await find(context)
    const [asked] = await Promise.allSettled([askNode(dependencies, context, context.method, context.params)])
    if (asked.status === 'fulfilled' && (asked.value !== null || !row)) return { found: asked.value }
    const own = row && (await signedOf(context, row))
    const found = own ? await findMined(context, own) : null
    if (found === null && asked.status === 'rejected') throw asked.reason
    return { found, own }
  }

  /** The transaction with this hash; undefined: none of the relayers has it, or the pool did not send it. */
  async function find({ relayers, pool, params }: Context): Promise<WholeTransactionRow | undefined> {
    const wanted = hashIn(params)
    if (wanted === undefined) return undefined
    const rows = await Promise.all(relayers.map(({ row_id }) => store.getTransactionByHash(row_id, wanted)))
    return rows.find((its) => its !== undefined && isOfPool(its, pool?.row_id))
  }

  /** The attempt with this hash, and all others with the same content. */
  async function signedOf({ params }: Context, row: WholeTransactionRow) {
    const wanted = hashIn(params)
    const attempts = (await store.attempts(row.row_id)).filter(({ purpose }) => purpose === 'send')
    const given = attempts.find(({ hash }) => hash === wanted)
    if (!given) return undefined
    const same = attempts.filter(({ content_hash, hash }) => content_hash === given.content_hash && hash !== given.hash)
    return { row, given, others: same.map(({ hash }) => hash) }
  }

  /** A node's response for the attempt that is in a block; null: no attempt is in a block. */
  async function findMined(context: Context, { row, others }: { row: WholeTransactionRow; others: string[] }) {
    const known = row.block_hash !== null && others.includes(row.hash ?? '') ? [row.hash as string] : others
    const asked = known.slice(-maxAliases)
    const answers = await Promise.allSettled(
      asked.map((other) => askNode(dependencies, context, context.method, [other])),
    )
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value as Found | null] : []))
    return found.find((answer) => answer?.blockNumber != null) ?? null
  }
}

/** Lower case; undefined: it is no hash. */
const hashIn = ([hash]: unknown[]): string | undefined =>
  typeof hash === 'string' && /^0x[0-9a-fA-F]{64}$/.test(hash) ? hash.toLowerCase() : undefined

/** An attempt with the content of its row, in the form in which nodes return a transaction from their pool. */
function pendingForm(row: WholeTransactionRow, attempt: AttemptRow) {
  const { type, chain_id, access_list, authorization_list } = row
  const { gas_price, max_fee_per_gas, max_priority_fee_per_gas, sig } = attempt
  const isDynamic = type === 2 || type === 4
  const parity = sig.endsWith('1c') ? 1 : 0
  const { r, s, v } = shownSignature(type, BigInt(chain_id), [sig.slice(0, 66), `0x${sig.slice(66, 130)}`], parity)
  return {
    blockHash: null,
    blockNumber: null,
    transactionIndex: null,
    hash: attempt.hash,
    from: row.from,
    to: row.to,
    nonce: quantity(attempt.nonce),
    value: quantity(row.value),
    input: row.data ?? '0x',
    gas: quantity(attempt.gas_limit),
    gasPrice: quantity(isDynamic ? max_fee_per_gas : gas_price),
    ...(isDynamic && {
      maxFeePerGas: quantity(max_fee_per_gas),
      maxPriorityFeePerGas: quantity(max_priority_fee_per_gas),
    }),
    type: quantity(type),
    chainId: quantity(chain_id),
    ...(type !== 0 && {
      accessList: (access_list ?? []).map(({ address, storage_keys }) => ({ address, storageKeys: storage_keys })),
      yParity: quantity(parity),
    }),
    ...(authorization_list && {
      authorizationList: authorization_list.map((authorization) => ({
        chainId: quantity(authorization.chain_id),
        address: authorization.address,
        nonce: quantity(authorization.nonce),
        yParity: quantity(authorization.y_parity),
        r: quantity(authorization.r),
        s: quantity(authorization.s),
      })),
    }),
    v: quantity(v),
    r: quantity(r),
    s: quantity(s),
  }
}

const quantity = (number: number | string | null): string => `0x${BigInt(number ?? 0).toString(16)}`
