import { capOf, feeOf, feeSpending, multipleOf } from '../policies/fee-policies.ts'
import type { RelayerRow } from '../store/rows.ts'
import type { AttemptRow, Move, TransactionRow } from '../store/sending-rows.ts'
import { LeaseLost } from '../store/work-share.ts'
import type { Broadcast } from './broadcast.ts'
import {
  type HeldRelayer,
  highestOutbid,
  highestTaken,
  type NetworkClient,
  type Prices,
  priceColumns,
  pricesOf,
  tierOf,
} from './dependencies.ts'
import type { SenderDependencies } from './lane.ts'
import { reprice_ms } from './state.ts'
import { type Wait, waitColumns } from './wait-reason.ts'

/** A cancellation is urgent, because the original may be mined at any moment. */
const withdrawal_tier = 'fast'
const at_limit_ms = 15_000
const self_transfer_gas = 21_000

/** The change of a row, and the bytes to broadcast after it is committed. */
export interface Signed {
  move: Move
  bytes?: Broadcast['attempt']
  /** Whether the bytes are new: then they may be broadcast only after the move is committed. */
  isNew: boolean
}

type SigningDependencies = Pick<SenderDependencies, 'store' | 'fees' | 'seal' | 'now' | 'observer' | 'holds'>

/**
 * Signs a transaction: for the first time, with new content (a replacement or a cancellation), or (`slow`) at another price.
 *
 * Pricing: when a node has an attempt, a new one must pay 10 % more for both fees. When no node has one, the current market price
 * or the requested price is used, even if it is lower than before. Repricing is limited by the policies `gas_price_cap` and
 * `max_fee_multiple`; at the limit the transaction waits with the reason. Nothing is signed when the price would be nearly the
 * same. Undefined: nothing changes. `signal`: a signature that is not requested yet is not needed any more when it aborts.
 */
export function createSigning({ store, fees, seal, now, observer, holds }: SigningDependencies) {
  return async function sign(
    { relayer, signer }: HeldRelayer,
    { chain, market }: Pick<NetworkClient, 'chain' | 'market'>,
    row: TransactionRow,
    purpose: 'send' | 'cancel',
    slow: boolean,
    signal?: AbortSignal,
  ): Promise<Signed | undefined> {
    const attempts = row.revision === 0 ? [] : await store.attempts(row.row_id)
    const last = attempts.at(-1)
    const wait_ms = reprice_ms[tierOf(row)]
    const prices = await priceOf(relayer, row, purpose, slow, attempts, market)
    if ('waiting_for' in prices) return waiting(row, prices)
    if (slow && last && isAsGood(last, row, purpose, prices)) {
      // The attempt is broadcast again when a node has only an older one. When no node has any, the status `sent` causes it.
      const move = { row_id: row.row_id, revision: row.revision, set: { reprice_at: now() + wait_ms } }
      if (row.status !== 'submitted') return { move, isNew: false }
      return { move, isNew: false, bytes: { ...last, raw: await store.rawOf(row.row_id, last.number) } }
    }

    const content =
      purpose === 'send'
        ? {
            to: row.to,
            value: BigInt(row.value),
            data: row.data_row_id === null ? null : await store.dataOf(row.row_id),
            gas_limit: row.gas_limit ?? self_transfer_gas,
            access_list: row.access_list,
            authorization_list: row.authorization_list,
          }
        : { to: row.from, value: 0n, data: null, gas_limit: await selfTransferGas(chain, row.from) }
    const spending = feeSpending(relayer, feeOf(fees, content.gas_limit, prices))
    if (spending.length > 0) {
      const over = await store.wouldExceed({ chain_id: row.chain_id, address: row.from }, spending, row.row_id)
      if (over) return waiting(row, waitForBudget(relayer))
    }
    const sealed = seal({ chain_id: row.chain_id, nonce: row.nonce as number, ...content, prices })
    // This process may have been stopped for a while. New bytes that are signed all the same are not stored, and so not broadcast.
    if (!holds(row.relayer_row_id)) throw new LeaseLost()
    const made = await signer.sign(sealed.digest, sealed.preimage, signal)
    const { raw, hash, signature } = sealed.finish(made)
    observer.signed?.('sent_transaction')

    const number = (last?.number ?? 0) + 1
    const attempt = { number, purpose, nonce: row.nonce, hash, raw, ...priceColumns(prices) }
    return {
      isNew: true,
      bytes: attempt,
      move: {
        row_id: row.row_id,
        revision: row.revision,
        attempt,
        ...(made.request_id !== undefined && { key_request_id: made.request_id }),
        ...(spending.length > 0 && { spending }),
        set: {
          status: row.status === 'pending' ? 'sent' : row.status,
          ...waitColumns(row, null),
          hash,
          signature,
          resign: false,
          reprice_at: now() + wait_ms,
          ...priceColumns(prices),
        },
      },
    }
  }

  async function priceOf(
    relayer: RelayerRow,
    row: TransactionRow,
    purpose: 'send' | 'cancel',
    slow: boolean,
    attempts: AttemptRow[],
    market: NetworkClient['market'],
  ): Promise<Prices | Wait> {
    const cap = capOf(relayer, gasOf(row, purpose))
    const taken = highestTaken(attempts, row.nonce)
    // Prices from the acceptance, or from a replacement request, are used unchanged.
    const given = purpose === 'send' && !slow ? pricesOf(row) : undefined
    const tier = purpose === 'send' ? tierOf(row) : withdrawal_tier
    const wanted = given ?? fees.quote(await market(), tier, relayer.policies.eip1559_pricing === false)
    if (!taken) return fees.limit(wanted, cap)
    if (given && isReplacing(given, taken)) return fees.limit(given, cap)
    // Only within `max_fee_multiple`, which holds for a slow transaction.
    const raised = fees.bump((slow && highestOutbid(attempts, row.nonce)) || taken, wanted, cap)
    if (!raised) return waitAtCap(relayer, gasOf(row, purpose))
    const multiple = multipleOf(relayer)
    if (slow && fees.isAbove(raised, await market(), tier, multiple)) {
      const text = `a higher price would be more than ${multiple} times the market price (policy max_fee_multiple)`
      return { waiting_for: 'fee_multiple', text }
    }
    return raised
  }

  function isReplacing(given: Prices, taken: Prices): boolean {
    const least = fees.bump(taken, taken, undefined)
    return least !== undefined && fees.isEnough(given, least)
  }

  /** Records the reason to wait; undefined when the row has it already. */
  function waiting(row: TransactionRow, wait: Wait): Signed | undefined {
    const columns = waitColumns(row, wait)
    const reprice_at = now() + at_limit_ms
    const isSaid = row.status_reason === columns.status_reason && row.waiting_for === columns.waiting_for
    if (isSaid && row.reprice_at > now() && row.reprice_at <= reprice_at) return undefined
    return { isNew: false, move: { row_id: row.row_id, revision: row.revision, set: { reprice_at, ...columns } } }
  }

  /** Whether an attempt that no node has accepted is as good as a new one. */
  function isAsGood(last: AttemptRow, row: TransactionRow, purpose: 'send' | 'cancel', prices: Prices): boolean {
    const signed = pricesOf(last)
    if (!signed || last.taken_at !== null || last.purpose !== purpose || last.nonce !== row.nonce || row.resign) {
      return false
    }
    return fees.isNear(signed, prices) && (row.status === 'sent' || fees.isEnough(signed, prices))
  }
}

/** The reason to wait, from the lower of the two policies that limit a price. */
function waitAtCap(relayer: RelayerRow, gas_limit: number): Wait {
  const { gas_price_cap, max_fee_per_transaction } = relayer.policies
  if (gas_price_cap !== undefined && capOf(relayer, gas_limit) === BigInt(gas_price_cap)) {
    return {
      waiting_for: 'price_cap',
      text: `the policy gas_price_cap (${gas_price_cap}) leaves no room for a higher price`,
    }
  }
  const text = `the policy max_fee_per_transaction (${max_fee_per_transaction}) leaves no room for a higher price`
  return { waiting_for: 'fee_budget', text }
}

const waitForBudget = ({ policies }: RelayerRow): Wait => ({
  waiting_for: 'fee_budget',
  text: `the policy max_fee_per_day (${policies.max_fee_per_day}) leaves no room for its fee`,
})

/** The gas limit before a node estimates a transfer to the account itself. */
const gasOf = ({ gas_limit }: TransactionRow, purpose: 'send' | 'cancel'): number =>
  (purpose === 'send' ? gas_limit : null) ?? self_transfer_gas

/** 21,000 on nearly every chain; some rollups add their own costs. */
async function selfTransferGas(chain: NetworkClient['chain'], address: string): Promise<number> {
  try {
    return await chain.estimateGas({ from: address, to: address, value: 0n, data: null })
  } catch {
    return self_transfer_gas
  }
}
