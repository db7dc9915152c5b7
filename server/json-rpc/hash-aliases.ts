import { Transaction } from 'ethers/transaction'
import { toHex } from '../core/hex.ts'
import type { AttemptRow, WholeTransactionRow } from '../core/sending-rows.ts'
import { isOfPool } from '../core/shown-transaction.ts'
import { isFinal } from '../core/statuses.ts'
import type { Context, JsonRpcDependencies, Method } from './context.ts'
import type { AskNode } from './reading.ts'

interface Signed {
  attempt: AttemptRow
  transaction: Transaction
}

interface Found {
  blockNumber?: string | null
}

/** The most hashes of a transaction that are looked up; each costs a call of a node. */
const max_aliases = 50

/**
 * A transaction that is signed again at a higher price has several hashes, one of which is mined. A request with any of them returns
 * the mined version, so that a library that waits for a receipt finishes. The response has the hash that is in the chain, because
 * explorers, logs and blocks show no other.
 *
 * Attempts with other content are no aliases. After a replacement or a cancellation the first hash has no receipt, and libraries
 * themselves find the transaction that was mined at its nonce.
 */
export function hashMethods({ store }: Pick<JsonRpcDependencies, 'store'>, askNode: AskNode): Record<string, Method> {
  return {
    async eth_getTransactionReceipt(context) {
      const row = await find(context)
      const answer = await askNode(context, context.method, context.params)
      if (answer !== null || !row) return answer
      const own = await signedOf(context, row)
      return own ? await findMined(context, own) : null
    },

    async eth_getTransactionByHash(context) {
      const row = await find(context)
      const answer = await askNode(context, context.method, context.params)
      if (answer !== null || !row) return answer
      const own = await signedOf(context, row)
      if (!own) return null
      const mined = await findMined(context, own)
      if (mined !== null) return mined
      // A node drops bytes that it replaced, and receives new ones only after they are stored.
      return !isFinal(own.row.status) && hasContentOf(own.row, own.given.transaction) ? pendingForm(own.given) : null
    },
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
    const signed = await Promise.all(
      attempts.map(async (attempt): Promise<Signed> => {
        const raw = await store.rawOf(row.row_id, attempt.number)
        return { attempt, transaction: Transaction.from(toHex(raw)) }
      }),
    )
    const given = signed.find(({ attempt }) => attempt.hash === wanted)
    if (!given) return undefined
    const same = signed.filter(({ transaction }) => isSame(transaction, given.transaction))
    return {
      row,
      given,
      others: same.map(({ attempt }) => attempt.hash).filter((other) => other !== given.attempt.hash),
    }
  }

  /** A node's response for the attempt that is in a block; null: no attempt is in a block. */
  async function findMined(context: Context, { row, others }: { row: WholeTransactionRow; others: string[] }) {
    const known = row.block_hash !== null && others.includes(row.hash ?? '') ? [row.hash as string] : others
    const asked = known.slice(-max_aliases)
    const answers = await Promise.all(asked.map((other) => askNode(context, context.method, [other])))
    return (answers as (Found | null)[]).find((answer) => answer?.blockNumber != null) ?? null
  }
}

/** Lower case; undefined: it is no hash. */
const hashIn = ([hash]: unknown[]): string | undefined =>
  typeof hash === 'string' && /^0x[0-9a-fA-F]{64}$/.test(hash) ? hash.toLowerCase() : undefined

const isSame = (a: Transaction, b: Transaction): boolean => a.to === b.to && a.value === b.value && a.data === b.data

const hasContentOf = ({ to, value, data }: WholeTransactionRow, transaction: Transaction): boolean =>
  (transaction.to?.toLowerCase() ?? null) === to &&
  transaction.value === BigInt(value) &&
  transaction.data === (data ?? '0x')

/** The transaction in the form in which nodes return one from their pool. */
function pendingForm({ transaction }: Signed) {
  const { signature, type, gasPrice, maxFeePerGas, maxPriorityFeePerGas, accessList, authorizationList } = transaction
  const isDynamic = type === 2 || type === 4
  return {
    blockHash: null,
    blockNumber: null,
    transactionIndex: null,
    hash: transaction.hash,
    from: transaction.from?.toLowerCase(),
    to: transaction.to?.toLowerCase() ?? null,
    nonce: quantity(transaction.nonce),
    value: quantity(transaction.value),
    input: transaction.data,
    gas: quantity(transaction.gasLimit),
    gasPrice: quantity((isDynamic ? maxFeePerGas : gasPrice) ?? 0n),
    ...(isDynamic && {
      maxFeePerGas: quantity(maxFeePerGas ?? 0n),
      maxPriorityFeePerGas: quantity(maxPriorityFeePerGas ?? 0n),
    }),
    type: quantity(type ?? 0),
    chainId: quantity(transaction.chainId),
    ...(type !== 0 && {
      accessList: (accessList ?? []).map((entry) => ({ ...entry, address: entry.address.toLowerCase() })),
      yParity: quantity(signature?.yParity ?? 0),
    }),
    ...(authorizationList && {
      authorizationList: authorizationList.map(({ address, chainId, nonce, signature: { r, s, yParity } }) => ({
        chainId: quantity(chainId),
        address: address.toLowerCase(),
        nonce: quantity(nonce),
        yParity: quantity(yParity),
        r: quantity(BigInt(r)),
        s: quantity(BigInt(s)),
      })),
    }),
    v: quantity(type === 0 ? (signature?.networkV ?? signature?.v ?? 0n) : (signature?.yParity ?? 0)),
    r: quantity(BigInt(signature?.r ?? 0)),
    s: quantity(BigInt(signature?.s ?? 0)),
  }
}

const quantity = (number: number | bigint): string => `0x${number.toString(16)}`
