import { type Block, type ChainModel, chainId, priceIn, Refusal, type SignedTransaction } from './chain.ts'

export interface Call {
  id: unknown
  method: string
  params: unknown[]
}

export type Answer = { result: unknown } | { error: { code: number; message: string } }

/** What an honest node answers that has this chain and nothing else. Reads archive state; knows no traces and no txpool. */
export function answerHonestly(chain: ChainModel, { method, params }: Call): Answer {
  const handler = methods[method]
  if (!handler) return { error: { code: -32_601, message: `the method ${method} does not exist/is not available` } }
  try {
    return { result: handler(chain, params as never) }
  } catch (error) {
    if (error instanceof Refusal) return { error: { code: -32_000, message: error.message } }
    throw error
  }
}

/** What an honest private relay answers: it has a pool of its own, which it shows to nobody but the one who knows the hash. */
export function answerAsRelay(chain: ChainModel, call: Call): Answer {
  const view = { ...chain, pool: chain.relayed, find: (hash: string) => chain.find(hash, chain.relayed) }
  return answerHonestly({ ...view, receive: (raw) => chain.receive(raw, chain.relayed) }, call)
}

type Method = (chain: ChainModel, params: never) => unknown

const methods: Record<string, Method> = {
  eth_chainId: () => hex(chainId),
  net_version: () => `${chainId}`,
  eth_blockNumber: (chain) => hex(chain.head().number),
  eth_gasPrice: ({ prices }) => hex(prices.base_fee + prices.tip),
  eth_maxPriorityFeePerGas: ({ prices }) => hex(prices.tip),
  eth_estimateGas: ({ rules }) => hex(rules.transfer_gas),
  eth_call({ rules }, [{ gas }]: [{ gas?: string }]) {
    if (gas !== undefined && BigInt(gas) < rules.transfer_gas)
      throw new Refusal(`intrinsic gas too low: have ${BigInt(gas)}`)
    return '0x'
  },
  eth_getCode: () => '0x',
  eth_getBalance: (chain, [address, tag]: string[]) => hex(chain.stateOf(lower(address), blockAt(chain, tag)).balance),
  eth_getTransactionCount(chain, [address, tag]: string[]) {
    const { nonce } = chain.stateOf(lower(address), blockAt(chain, tag))
    if (tag !== 'pending') return hex(nonce)
    let next = nonce
    while (chain.pool.has(`${lower(address)} ${next}`)) next += 1
    return hex(next)
  },
  eth_getBlockByNumber(chain, [tag, full]: [string, boolean]) {
    const block = findBlock(chain, tag)
    return block ? renderBlock(block, full) : null
  },
  eth_getBlockByHash(chain, [hash, full]: [string, boolean]) {
    const block = chain.blocks().find((one) => one.hash === hash)
    return block ? renderBlock(block, full) : null
  },
  eth_feeHistory({ prices }, [count, , percentiles]: [string, string, number[]?]) {
    const blocks = Math.min(Number(count), 20)
    const each = <T>(value: T, more = 0) => Array.from({ length: blocks + more }, () => value)
    return {
      oldestBlock: '0x0',
      baseFeePerGas: each(hex(prices.base_fee), 1),
      gasUsedRatio: each(0.5),
      reward: each((percentiles ?? []).map(() => hex(prices.tip))),
    }
  },
  eth_sendRawTransaction: (chain, [raw]: string[]) => chain.receive(`${raw}`),
  eth_getTransactionByHash(chain, [hash]: string[]) {
    const found = chain.find(`${hash}`)
    return found ? renderTransaction(found.transaction, found.block) : null
  },
  eth_getTransactionReceipt(chain, [hash]: string[]) {
    const found = chain.find(`${hash}`)
    return found?.block ? renderReceipt(found.transaction, found.block) : null
  },
}

const lower = (address: string | undefined) => `${address}`.toLowerCase()

function findBlock(chain: ChainModel, tag: string | undefined): Block | undefined {
  if (tag === undefined || !/^0x/.test(tag)) return chain.head()
  return chain.blocks()[Number(tag)]
}

function blockAt(chain: ChainModel, tag: string | undefined): Block {
  const block = findBlock(chain, tag)
  if (!block) throw new Refusal('header not found')
  return block
}

export const hex = (number: number | bigint): string => `0x${number.toString(16)}`

export function renderBlock(block: Block, full: boolean) {
  return {
    number: hex(block.number),
    hash: block.hash,
    parentHash: block.parent_hash,
    baseFeePerGas: hex(block.base_fee),
    gasLimit: hex(30_000_000),
    gasUsed: hex(BigInt(block.transactions.length) * block.transfer_gas),
    timestamp: hex(1_700_000_000 + block.number),
    transactions: block.transactions.map((one) => (full ? renderTransaction(one, block) : one.hash)),
  }
}

/** As the execution API specification has it, with the signature, so that a reader can check it. */
export function renderTransaction({ parsed, ...transaction }: SignedTransaction, block: Block | undefined) {
  const { type, signature, accessList, maxFeePerGas, maxPriorityFeePerGas } = parsed
  const prices =
    type === 2
      ? {
          maxFeePerGas: hex(maxFeePerGas ?? 0n),
          maxPriorityFeePerGas: hex(maxPriorityFeePerGas ?? 0n),
          gasPrice: hex(block ? priceIn({ parsed, ...transaction }, block.base_fee) : (maxFeePerGas ?? 0n)),
          accessList: accessList ?? [],
          yParity: hex(signature?.yParity ?? 0),
          v: hex(signature?.yParity ?? 0),
        }
      : { gasPrice: hex(parsed.gasPrice ?? 0n), v: hex(signature?.networkV ?? 0n) }
  return {
    type: hex(type ?? 0),
    chainId: hex(chainId),
    hash: transaction.hash,
    from: transaction.from,
    to: transaction.to,
    nonce: hex(transaction.nonce),
    value: hex(transaction.value),
    gas: hex(transaction.gas_limit),
    input: parsed.data,
    ...prices,
    r: quantity(signature?.r),
    s: quantity(signature?.s),
    blockNumber: block ? hex(block.number) : null,
    blockHash: block?.hash ?? null,
    transactionIndex: block ? hex(block.transactions.findIndex(({ hash }) => hash === transaction.hash)) : null,
  }
}

/** Nodes write r and s as quantities, without leading zeros. */
const quantity = (bytes: string | undefined) => hex(BigInt(bytes ?? '0x0'))

export function renderReceipt(transaction: SignedTransaction, block: Block) {
  return {
    transactionHash: transaction.hash,
    from: transaction.from,
    to: transaction.to,
    blockNumber: hex(block.number),
    blockHash: block.hash,
    transactionIndex: '0x0',
    status: '0x1',
    gasUsed: hex(block.transfer_gas),
    cumulativeGasUsed: hex(block.transfer_gas),
    effectiveGasPrice: hex(priceIn(transaction, block.base_fee)),
    contractAddress: null,
    logs: [],
    type: hex(transaction.parsed.type ?? 0),
  }
}
