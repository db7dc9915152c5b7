import { keccak256, Transaction, toUtf8Bytes } from 'ethers'

/** A signed transaction, parsed from its raw bytes. Addresses and hashes are lower case. */
export interface SignedTransaction {
  raw: string
  hash: string
  from: string
  to: string | null
  nonce: number
  value: bigint
  gas_limit: bigint
  max_fee: bigint
  tip: bigint
  parsed: Transaction
}

export interface Block {
  number: number
  hash: string
  parent_hash: string
  base_fee: bigint
  /** What a transfer costs by the rules of this block. */
  transfer_gas: bigint
  transactions: SignedTransaction[]
  /** The accounts after this block. */
  accounts: Map<string, AccountState>
}

export interface AccountState {
  nonce: number
  balance: bigint
}

/** A refusal as a node words it; `code` is -32000, as geth's. */
export class Refusal extends Error {}

export const chainId = 31_337
/** What a transfer costs until the rules change. */
const transferGas = 21_000n

const replacementPercent = 110n
const maxBlockTransactions = 50

export type ChainModel = ReturnType<typeof createChainModel>

/**
 * A small honest EVM chain in memory: accounts, a transaction pool, blocks and reorganizations; plain transfers only. The
 * pool's rules and its words are geth's. A private relay has a pool of its own, from which blocks are made too. Nothing in it depends
 * on time or randomness.
 */
export function createChainModel() {
  const pool = new Map<string, SignedTransaction>()
  const relayed = new Map<string, SignedTransaction>()
  /** The nonces that were ever used in a block, each as `address nonce`. */
  const everMined = new Set<string>()
  const known = new Map<string, SignedTransaction>()
  let forks = 0
  /** Of the next blocks. */
  const prices = { base_fee: 10_000_000_000n, tip: 1_000_000_000n }
  const rules = { transfer_gas: transferGas }
  let blocks: Block[] = [makeBlock(undefined, [], new Map())]

  const head = () => blocks.at(-1) as Block
  const stateOf = (address: string, block = head()): AccountState =>
    block.accounts.get(address) ?? { nonce: 0, balance: 0n }

  function makeBlock(
    parent: Block | undefined,
    transactions: SignedTransaction[],
    accounts: Map<string, AccountState>,
  ): Block {
    const number = parent ? parent.number + 1 : 0
    const parentHash = parent?.hash ?? `0x${'00'.repeat(32)}`
    const content = [parentHash, number, forks, ...transactions.map(({ hash }) => hash)].join(' ')
    return {
      number,
      parent_hash: parentHash,
      hash: hashOf(content),
      base_fee: prices.base_fee,
      transfer_gas: rules.transfer_gas,
      transactions,
      accounts,
    }
  }

  function append(candidates: SignedTransaction[]): void {
    const parent = head()
    const accounts = new Map(parent.accounts)
    const included: SignedTransaction[] = []
    for (const transaction of candidates.toSorted((a, b) => a.nonce - b.nonce || payment(b, a))) {
      const { nonce, balance } = accounts.get(transaction.from) ?? { nonce: 0, balance: 0n }
      const cost = transaction.value + rules.transfer_gas * priceIn(transaction, prices.base_fee)
      if (transaction.gas_limit < rules.transfer_gas) continue
      if (transaction.nonce !== nonce || transaction.max_fee < prices.base_fee || balance < cost) continue
      accounts.set(transaction.from, { nonce: nonce + 1, balance: balance - cost })
      const to = transaction.to ?? transaction.from
      const receiver = accounts.get(to) ?? { nonce: 0, balance: 0n }
      accounts.set(to, { ...receiver, balance: receiver.balance + transaction.value })
      included.push(transaction)
    }
    blocks.push(makeBlock(parent, included, accounts))
    for (const { from, nonce } of included) {
      everMined.add(`${from} ${nonce}`)
      pool.delete(`${from} ${nonce}`)
      relayed.delete(`${from} ${nonce}`)
    }
  }

  return {
    prices,
    rules: rules as Readonly<typeof rules>,
    everMined,
    blocks: () => blocks,
    head,
    pool,
    /** The pool of the private relay. */
    relayed,
    stateOf,
    /** Every transaction that any node of the chain was ever given, mined or not. */
    known,

    /** Takes raw bytes into a pool. Throws Refusal. */
    receive(raw: string, into = pool): string {
      const transaction = parse(raw)
      known.set(transaction.hash, transaction)
      const { from, nonce, hash, max_fee, tip, gas_limit, value } = transaction
      const slot = `${from} ${nonce}`
      const held = into.get(slot)
      if (held?.hash === hash) throw new Refusal('already known')
      if (transaction.parsed.chainId !== BigInt(chainId)) throw new Refusal('invalid chain id for signer')
      if (gas_limit < rules.transfer_gas) throw new Refusal('intrinsic gas too low')
      if (tip > max_fee) throw new Refusal('max priority fee per gas higher than max fee per gas')
      if (nonce < stateOf(from).nonce) throw new Refusal('nonce too low')
      if (stateOf(from).balance < value + gas_limit * max_fee) {
        throw new Refusal('insufficient funds for gas * price + value')
      }
      if (held && !(isRaised(max_fee, held.max_fee) && isRaised(tip, held.tip))) {
        throw new Refusal('replacement transaction underpriced')
      }
      into.set(slot, transaction)
      return hash
    },

    /** A fork. What has too little gas by the new rules leaves the pools. */
    changeRules(gas: bigint): void {
      rules.transfer_gas = gas
      for (const held of [pool, relayed]) {
        for (const [slot, { gas_limit }] of held) if (gas_limit < gas) held.delete(slot)
      }
    },

    /** Makes one block of at most `limit` transactions of the pool. */
    mine(limit = maxBlockTransactions): void {
      // Of two with one nonce the one that pays more.
      const offered = [...pool.values(), ...relayed.values()].toSorted((a, b) => a.nonce - b.nonce || payment(b, a))
      append(offered.slice(0, limit))
    },

    /** Puts transactions into a block of their own, whether the pool has them or not. */
    mineOnly: append,

    /**
     * Replaces the last `depth` blocks by one more than that. What they held returns to the pool, is dropped, or loses its
     * place to `rivals`, which are in the first of the new blocks. Answers with the transactions of the removed blocks.
     */
    reorganize(depth: number, dropped: boolean, rivals: SignedTransaction[] = []): SignedTransaction[] {
      const kept = Math.max(1, blocks.length - depth)
      const removed = blocks.slice(kept).flatMap(({ transactions }) => transactions)
      const height = blocks.length
      blocks = blocks.slice(0, kept)
      forks += 1
      append(rivals)
      while (blocks.length <= height) append([])
      for (const transaction of dropped ? [] : removed) {
        const isValid = transaction.gas_limit >= rules.transfer_gas
        if (isValid && transaction.nonce >= stateOf(transaction.from).nonce) {
          pool.set(`${transaction.from} ${transaction.nonce}`, transaction)
        }
      }
      return removed
    },

    setBalance(address: string, balance: bigint): void {
      for (const { accounts } of blocks) accounts.set(address, { nonce: accounts.get(address)?.nonce ?? 0, balance })
    },

    find(hash: string, held = pool): { transaction: SignedTransaction; block: Block | undefined } | undefined {
      for (const block of blocks) {
        const transaction = block.transactions.find((one) => one.hash === hash)
        if (transaction) return { transaction, block }
      }
      const pooled = [...held.values()].find((one) => one.hash === hash)
      return pooled && { transaction: pooled, block: undefined }
    },

    /** All that is in a block, the oldest first. */
    mined: () => blocks.flatMap((block) => block.transactions.map((transaction) => ({ transaction, block }))),
  }
}

/** The price per unit of gas in a block with this base fee (EIP-1559). */
export function priceIn({ max_fee, tip }: SignedTransaction, baseFee: bigint): bigint {
  return max_fee < baseFee + tip ? max_fee : baseFee + tip
}

const parsedBytes = new Map<string, SignedTransaction>()
const maxParsed = 10_000

/** Throws Refusal for bytes that are no signed transaction. Recovering a sender takes a millisecond, so it is remembered. */
export function parse(raw: string): SignedTransaction {
  const before = parsedBytes.get(raw)
  if (before) return before
  let parsed: Transaction
  try {
    parsed = Transaction.from(raw)
  } catch {
    throw new Refusal('rlp: expected input list for types.LegacyTx')
  }
  if (!parsed.from || !parsed.hash) throw new Refusal('invalid sender')
  const maxFee = parsed.maxFeePerGas ?? parsed.gasPrice ?? 0n
  const transaction: SignedTransaction = {
    raw,
    hash: parsed.hash,
    from: parsed.from.toLowerCase(),
    to: parsed.to?.toLowerCase() ?? null,
    nonce: parsed.nonce,
    value: parsed.value,
    gas_limit: parsed.gasLimit,
    max_fee: maxFee,
    tip: parsed.maxPriorityFeePerGas ?? maxFee,
    parsed,
  }
  if (parsedBytes.size >= maxParsed) parsedBytes.clear()
  parsedBytes.set(raw, transaction)
  return transaction
}

const payment = (a: SignedTransaction, b: SignedTransaction) => Number(a.max_fee - b.max_fee)

const isRaised = (fee: bigint, before: bigint) => fee * 100n >= before * replacementPercent

export const hashOf = (text: string): string => keccak256(toUtf8Bytes(text))
