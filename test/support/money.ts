import type { Transaction } from '../../client/index.ts'
import type { Anvil } from './anvil.ts'

/** The payments of an account, computed from receipts of the chain. */
export interface Money {
  /** Fees paid, divided by the fees at the market price of the same blocks; 1 when no fee was paid. */
  fees_over_market: number
  /** The highest such quotient of one transaction. */
  highest_fee_over_market: number
  /** Transfers of 0 wei to the account itself. */
  self_transfers: number
  /** Those of them at nonces for which no caller requested a cancellation. */
  unasked_self_transfers: number
  /** The amount that receivers got, divided by the values of confirmed transactions; 1 when both are 0. */
  got_over_due: number
  /** Not ended, though the faults are over. */
  blocked: number
  /** Times that a transaction waited without a `status_reason`, as far as the part has looked. */
  silent_waits: number
}

/** `max_fee_multiplier`: the policy's default. */
export const maxFeeMultiplier = 5

/** A tip that anvil suggests, and the market's in all that the harness does. */
const marketTip = 10n ** 9n

interface Receipt {
  transactionHash: string
  from: string
  gasUsed: string
  effectiveGasPrice: string
}

interface Block {
  baseFeePerGas?: string
  transactions: { hash: string; from: string; to: string | null; nonce: string; value: string }[]
}

export interface MoneyQuestion {
  address: string
  rows: Transaction[]
  /** Ids of transactions that a caller asked to withdraw. */
  withdrawn: ReadonlySet<string>
  /** Hashes of transactions that the harness sent with the key. */
  foreign: ReadonlySet<string>
  silent_waits: number
}

/** Walks through all blocks. */
export async function moneyOf(
  chain: Anvil,
  { address, rows, withdrawn, foreign, silent_waits }: MoneyQuestion,
): Promise<Money> {
  const sums = { paid: 0n, market: 0n, highest: 1, self: 0, unasked: 0, got: 0n }
  const idAt = new Map(rows.map(({ nonce, id }) => [nonce, id]))
  const height = Number(await chain.rpc<string>('eth_blockNumber'))
  for (let number = 0; number <= height; number += 1) {
    const tag = `0x${number.toString(16)}`
    const block = await chain.rpc<Block>('eth_getBlockByNumber', [tag, true])
    const own = block.transactions.filter(({ from, hash }) => from.toLowerCase() === address && !foreign.has(hash))
    if (own.length === 0) continue
    const receipts = await chain.rpc<Receipt[]>('eth_getBlockReceipts', [tag])
    const receiptOf = new Map(receipts.map((receipt) => [receipt.transactionHash, receipt]))
    const market = BigInt(block.baseFeePerGas ?? 0) + marketTip
    for (const { hash, to, value, nonce } of own) {
      const { gasUsed = '0x0', effectiveGasPrice = '0x0' } = receiptOf.get(hash) ?? {}
      sums.paid += BigInt(gasUsed) * BigInt(effectiveGasPrice)
      sums.market += BigInt(gasUsed) * market
      sums.highest = Math.max(sums.highest, ratio(BigInt(effectiveGasPrice), market))
      if (to?.toLowerCase() !== address) sums.got += BigInt(value)
      else if (BigInt(value) === 0n) {
        sums.self += 1
        if (!withdrawn.has(idAt.get(Number(nonce)) ?? '')) sums.unasked += 1
      }
    }
  }
  const due = rows
    .filter(({ status, to }) => status === 'confirmed' && to !== address)
    .reduce((sum, { value }) => sum + BigInt(value), 0n)
  return {
    fees_over_market: ratio(sums.paid, sums.market),
    highest_fee_over_market: sums.highest,
    self_transfers: sums.self,
    unasked_self_transfers: sums.unasked,
    got_over_due: exactRatio(sums.got, due),
    blocked: rows.filter(({ status }) => !ended.has(status)).length,
    silent_waits,
  }
}

const ended: ReadonlySet<string> = new Set(['confirmed', 'failed', 'canceled', 'expired'])

/** Which promises about money are broken, a line each. */
export function wrongInMoney(money: Money): string[] {
  const bounds: [keyof Money, number, number][] = [
    ['highest_fee_over_market', 0, maxFeeMultiplier],
    ['unasked_self_transfers', 0, 0],
    ['got_over_due', 1, 1],
    ['blocked', 0, 0],
    ['silent_waits', 0, 0],
  ]
  return bounds
    .filter(([name, least, most]) => money[name] < least || money[name] > most)
    .map(([name, , most]) => `${name} is ${money[name]} and not ${name.includes('fee') ? 'at most ' : ''}${most}`)
}

/** Rounded to two places; 1 when the denominator is 0. */
const ratio = (amount: bigint, of: bigint): number => (of === 0n ? 1 : Number((amount * 100n) / of) / 100)

/** 1 only where both are the same. */
function exactRatio(got: bigint, due: bigint): number {
  if (got === due) return 1
  const about = due === 0n ? Number.POSITIVE_INFINITY : Number((got * 10_000n) / due) / 10_000
  return about === 1 ? 1 + Number.EPSILON : about
}
