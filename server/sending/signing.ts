import type { WaitingFor } from '../../generated/openapi.ts'
import type { Attempt, Move, RelayerRow, TransactionRow } from '../store/rows.ts'
import { capOf, feeOf, feeSpending } from './fee-policies.ts'
import {
  type HeldRelayer,
  type Prices,
  priceColumns,
  pricesOf,
  type Reach,
  type SendingParts,
  tierOf,
} from './parts.ts'

/** How long a tier waits for a block before it pays more. */
const reprice_ms = { safe_low: 300_000, average: 120_000, fast: 45_000, fastest: 15_000 } as const
/** A withdrawal is urgent: the original may be mined at any moment. */
const withdrawal_tier = 'fast'
const at_cap_ms = 15_000
const self_transfer_gas = 21_000

export interface SignedMove {
  move: Move
  raw: Uint8Array
}

type SigningParts = Pick<SendingParts, 'store' | 'fees' | 'seal' | 'now' | 'observer'>

/**
 * Signs a transaction: for the first time, as what is wanted now, or (`slow`) for more. Answers with the change that makes the
 * bytes durable; they go nowhere before it is committed. Without bytes where the price cap leaves no room: then it waits, and
 * there is nothing to change while it says so already.
 */
export function createSigning({ store, fees, seal, now, observer }: SigningParts) {
  return async function sign(
    { relayer, signer }: HeldRelayer,
    { chain, market }: Pick<Reach, 'chain' | 'market'>,
    row: TransactionRow,
    purpose: 'send' | 'cancel',
    slow: boolean,
  ): Promise<SignedMove | Move | undefined> {
    const last = row.revision === 0 ? undefined : (await store.attempts(row.key)).at(-1)
    const prices = await priceOf(relayer, row, purpose, slow, last, market)
    const wait_ms = reprice_ms[tierOf(row)]
    if (!prices) return wait(row, waitAtCap(relayer, gasOf(row, purpose)))

    const content =
      purpose === 'send'
        ? {
            to: row.to,
            value: BigInt(row.value),
            data: await store.dataOf(row.key),
            gas_limit: row.gas_limit ?? self_transfer_gas,
          }
        : { to: row.from, value: 0n, data: null, gas_limit: await selfTransferGas(chain, row.from) }
    const spending = feeSpending(relayer, feeOf(fees, content.gas_limit, prices))
    if (spending.length > 0) {
      const over = await store.wouldExceed({ chain_id: row.chain_id, address: row.from }, spending, row.key)
      if (over) return wait(row, waitForBudget(relayer))
    }
    const sealed = seal({ chain_id: row.chain_id, nonce: row.nonce as number, ...content, prices })
    const { raw, hash, signature } = sealed.finish(await signer.sign(sealed.digest))
    observer.signed?.('sent_transaction')

    const number = (last?.number ?? 0) + 1
    const attempt = { number, purpose, nonce: row.nonce, hash, raw, ...priceColumns(prices) }
    return {
      raw,
      move: {
        key: row.key,
        revision: row.revision,
        attempt,
        ...(spending.length > 0 && { spending }),
        set: {
          status: row.status === 'pending' ? 'sent' : row.status,
          status_reason: reasonOf(row, null),
          hash,
          signature,
          resign: false,
          reprice_at: now() + wait_ms,
          ...priceColumns(prices),
        },
      },
    }
  }

  function wait(row: TransactionRow, { waiting_for, reason }: Wait): Move | undefined {
    const status_reason = reasonOf(row, reason)
    const reprice_at = now() + at_cap_ms
    const waits = row.status_reason === status_reason && row.reprice_at > now() && row.reprice_at <= reprice_at
    return waits ? undefined : { key: row.key, revision: row.revision, set: { reprice_at, status_reason, waiting_for } }
  }

  async function priceOf(
    relayer: RelayerRow,
    row: TransactionRow,
    purpose: 'send' | 'cancel',
    slow: boolean,
    last: Attempt | undefined,
    market: Reach['market'],
  ): Promise<Prices | undefined> {
    const cap = capOf(relayer, gasOf(row, purpose))
    const given = pricesOf(row)
    // What was priced when it was accepted, or given with a replacement, is signed as it is.
    if (purpose === 'send' && !slow && given) return fees.limit(given, cap)
    const tier = purpose === 'send' ? tierOf(row) : withdrawal_tier
    const wanted = fees.quote(await market(), tier, relayer.policies.eip1559_pricing === false)
    // What was signed at another nonce is no rival.
    const before = last && row.hash !== null && pricesOf(last)
    return before ? fees.bump(before, wanted, cap) : fees.limit(wanted, cap)
  }
}

/** Why a transaction was withdrawn is told to the end; that it waits is told beside it, as long as it waits. */
function reasonOf({ intent, status_reason }: TransactionRow, waits: string | null): string | null {
  const own = intent === 'send' ? null : status_reason?.replace(/(?:^|; )Waits: .*$/, '')
  return [own, waits].filter(Boolean).join('; ').slice(0, 1_000) || null
}

interface Wait {
  waiting_for: WaitingFor
  reason: string
}

/** Which of the two policies that limit a price is the lower one. */
function waitAtCap(relayer: RelayerRow, gas_limit: number): Wait {
  const { gas_price_cap, max_fee_per_transaction } = relayer.policies
  if (gas_price_cap !== undefined && capOf(relayer, gas_limit) === BigInt(gas_price_cap)) {
    const reason = `Waits: the policy gas_price_cap (${gas_price_cap}) leaves no room for a higher price`
    return { waiting_for: 'price_cap', reason }
  }
  const reason = `Waits: the policy max_fee_per_transaction (${max_fee_per_transaction}) leaves no room for a higher price`
  return { waiting_for: 'fee_budget', reason }
}

const waitForBudget = ({ policies }: RelayerRow): Wait => ({
  waiting_for: 'fee_budget',
  reason: `Waits: the policy max_fee_per_day (${policies.max_fee_per_day}) leaves no room for its fee`,
})

/** Before a node is asked what a transfer to the account itself costs. */
const gasOf = ({ gas_limit }: TransactionRow, purpose: 'send' | 'cancel'): number =>
  (purpose === 'send' ? gas_limit : null) ?? self_transfer_gas

/** 21,000 on nearly every chain; some rollups count their own costs in. */
async function selfTransferGas(chain: Reach['chain'], address: string): Promise<number> {
  try {
    return await chain.estimateGas({ from: address, to: address, value: 0n, data: null })
  } catch {
    return self_transfer_gas
  }
}
