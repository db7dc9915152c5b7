import type { FundingStatus, SendTransactionRequest } from '../../../generated/openapi.ts'
import { transferCall } from '../../core/encoding/erc20.ts'
import { ApiError, type Detail } from '../../core/errors.ts'
import { type AppliedFunding, refillsOf } from '../../core/funding.ts'
import { serviceAccess } from '../../core/node-access.ts'
import { overLimit } from '../../core/policies/transaction-policies.ts'
import { gwei, limit, nextPrice, priceColumns, quote } from '../../core/prices.ts'
import type { PendingAuditEntry, RelayerRow } from '../../core/rows.ts'
import type { Spend, TransactionRow } from '../../core/sending-rows.ts'
import { isFinal } from '../../core/statuses.ts'
import { shownReason } from '../../core/wait-reason.ts'
import type { Refill } from '../../store/funding-store.ts'
import type { SendingDependencies } from '../dependencies.ts'
import type { createDryRun } from '../request/dry-run.ts'
import { default_tier } from '../request/pricing.ts'
import type { Submit } from '../request/submit.ts'
import type { Complete } from '../request/submit-parts.ts'
import { availableTo } from './balance.ts'

interface FundingDependencies
  extends Pick<SendingDependencies, 'store' | 'findRelayer' | 'networkClient' | 'now' | 'elapsed'> {
  submit: Pick<Submit, 'send'>
  dryRun: ReturnType<typeof createDryRun>
}

/** How often the balance is read: while the relayer works, and while it does nothing. */
const check_ms = 5_000
const idle_ms = 15_000
/** How often the transaction of a refill is looked at. */
const refill_ms = 1_000
/** While nodes fail for less than this, nobody is alarmed. */
const patience_ms = 60_000
/** After a refill that failed. Each costs a fee. */
const rest_ms = 10 * 60_000
const caller = 'service'
const max_reason = 1_000

interface Result {
  state: FundingStatus
  reason: string | null
}

const result = (state: FundingStatus, reason: string | null = null): Result => ({
  state,
  reason: reason === null ? null : reason.slice(0, max_reason),
})

/**
 * Keeps relayers supplied. A refill is written down first, then sent under an idempotency key of its own: after a crash the same request is
 * repeated, and is accepted once. The database holds at most one open refill of a relayer.
 */
export function createFunding(dependencies: FundingDependencies) {
  const { store, findRelayer, networkClient, submit, dryRun, now, elapsed } = dependencies
  const nodes = serviceAccess()
  /** Since when the balance is unknown, and when to look again, by the relayer's row id. */
  const unknownSince = new Map<number, number>()
  const nextAt = new Map<number, number>()

  async function examine(relayer: RelayerRow, applied: AppliedFunding): Promise<Result> {
    const { funding } = applied
    const [last] = await store.refills(relayer.row_id)
    if (last?.is_open) {
      const pending = await (last.transaction_id === null ? send(last, relayer, applied) : follow(last))
      if (pending) return pending
    }
    const client = await networkClient(relayer)
    const [before] = await store.refills(relayer.row_id)
    const from_block = before?.block_number ?? 0
    const available = client && (await availableTo(relayer, client, store, funding.asset, from_block))
    if (available === undefined)
      return result('unknown', 'The balance is unknown: most nodes do not answer, or lag behind')
    // A drained relayer gets what its unfinished transactions need: it may be swept.
    const isDrained = relayer.policies.allow_transactions === false
    const [min, target] = isDrained ? ['0', '0'] : [funding.min_balance, funding.target_balance]
    if (available >= BigInt(min)) return result('sufficient')
    const failed = before && !before.is_open && (await failureOf(before))
    if (failed) return result('refused', failed)
    return refill(relayer, applied, BigInt(target) - available)
  }

  /** Undefined: its transaction has ended. */
  async function follow({ row_id, treasury_row_id, transaction_id }: Refill): Promise<Result | undefined> {
    const row = await transactionOf(treasury_row_id, transaction_id)
    if (row && !isFinal(row.status)) return result('refilling', shownReason(row))
    await store.endRefill(row_id, row?.block_number ?? null)
    return undefined
  }

  /** Why the next refill must rest; undefined: it need not. */
  async function failureOf({ treasury_row_id, transaction_id, created_at }: Refill): Promise<string | undefined> {
    const row = await transactionOf(treasury_row_id, transaction_id)
    if (!row || row.status === 'confirmed' || now() - Date.parse(created_at) > rest_ms) return undefined
    return `The last refill ended as ${row.status}; the next one starts ${rest_ms / 60_000} minutes after it`
  }

  const transactionOf = async (treasury_row_id: number, id: string | null): Promise<TransactionRow | undefined> =>
    id === null ? undefined : store.getTransaction(treasury_row_id, id)

  async function refill(relayer: RelayerRow, applied: AppliedFunding, amount: bigint): Promise<Result> {
    const { funding } = applied
    const treasury = await findRelayer(funding.from)
    const price = await priceFor(treasury)
    if (price === undefined) return result('unknown', 'No node of the network answers')
    const { max_fee_per_gas } = funding
    if (price > BigInt(max_fee_per_gas)) {
      const reason = `The price of gas is ${gwei(price)}, above max_fee_per_gas (${gwei(max_fee_per_gas)})`
      return result('fee_too_high', reason)
    }
    const request: SendTransactionRequest = {
      ...(funding.asset === null
        ? { to: relayer.address, value: `${amount}` }
        : { to: funding.asset, value: '0', data: transferCall(relayer.address, amount) }),
      reference: `refill ${relayer.id}`,
    }
    const { refusals, gas_limit } = await dryRun(nodes, treasury.id, request)
    const [first] = refusals
    if (first) return refusedAs(first)
    const spend = spendOf(relayer, applied, amount, { gas_limit: gas_limit ?? 0, data_fee: 0n })
    const over = await store.wouldExceed(treasury, [spend])
    if (over) return refusedAs(overLimit(over))
    const planned = await store.planRefill({
      relayer_row_id: relayer.row_id,
      treasury_row_id: treasury.row_id,
      treasury_id: treasury.id,
      asset: funding.asset,
      amount: `${amount}`,
      request: JSON.stringify(request),
    })
    return planned ? send(planned, relayer, applied) : result('refilling')
  }

  /** Removes it when it is refused, so that another one may be planned. Throws when its outcome is unknown: it is repeated then. */
  async function send(refill: Refill, relayer: RelayerRow, applied: AppliedFunding): Promise<Result> {
    const { row_id, treasury_id, request, amount } = refill
    const idempotency = { caller, key: `refill ${row_id}` }
    // It starts at the market's price: `max_fee_per_gas` is what later prices may be.
    const { max_fee_per_gas } = applied.funding
    const complete: Complete = (transaction, quoted) => ({
      ...transaction,
      ...priceColumns(limit(quoted.prices, BigInt(max_fee_per_gas))),
      fee_ceiling: max_fee_per_gas,
      spending: [...(transaction.spending ?? []), spendOf(relayer, applied, BigInt(amount), quoted)],
    })
    try {
      const { transaction } = await submit.send(
        treasury_id,
        JSON.parse(request),
        idempotency,
        auditEntry(treasury_id),
        { authorize: async () => undefined, nodes },
        { complete },
      )
      await store.noteRefillSent(row_id, transaction.id)
      return result('refilling')
    } catch (error) {
      if (!(error instanceof ApiError) || error.code === 'outcome_unknown') throw error
      const accepted = await store.dropRefill(refill, idempotency)
      return accepted === undefined ? refusedAs(error) : result('refilling')
    }
  }

  /** The market's price in the next block; undefined: it is unknown. */
  async function priceFor(treasury: RelayerRow): Promise<bigint | undefined> {
    const client = await networkClient(treasury)
    const market = await client?.market().catch(() => undefined)
    if (!market) return undefined
    const kind = treasury.policies.eip1559_pricing === false ? 'legacy' : market.kind
    return nextPrice(quote(market, default_tier, kind), market)
  }

  const auditEntry = (relayer_id: string): PendingAuditEntry => ({
    at: now(),
    caller,
    operation: 'refill',
    relayer_id,
    subject: null,
    result: 201,
    request_id: null,
    recorded: false,
  })

  async function round(row_id: number): Promise<number | undefined> {
    const relayer = await store.getRelayerByRowId(row_id)
    const applied = relayer && (await store.fundingOf(relayer))
    if (!applied) return undefined
    const its = await examine(relayer, applied)
    if (its.state === 'unknown') {
      const since = unknownSince.get(row_id) ?? elapsed()
      unknownSince.set(row_id, since)
      if (elapsed() - since >= patience_ms) await store.noteFunding(row_id, its)
    } else {
      unknownSince.delete(row_id)
      await store.noteFunding(row_id, its)
    }
    if (its.state === 'refilling') return refill_ms
    const isIdle = its.state === 'sufficient' && (await store.countUnfinished(row_id)) === 0
    return isIdle ? idle_ms : check_ms
  }

  return {
    /** Examines a relayer if it is time to, and starts or follows its refill. Resolves to the milliseconds until the next time. */
    async work(row_id: number): Promise<number | undefined> {
      // The search for work wakes every row, at each change by another process.
      const early_ms = (nextAt.get(row_id) ?? 0) - elapsed()
      if (early_ms > 0) return early_ms
      nextAt.set(row_id, elapsed() + check_ms)
      const wait_ms = await round(row_id)
      nextAt.set(row_id, elapsed() + (wait_ms ?? 0))
      return wait_ms
    },
    /** The settings were changed. */
    again(row_id: number): void {
      nextAt.delete(row_id)
    },
    async leave(row_id: number): Promise<void> {
      nextAt.delete(row_id)
      unknownSince.delete(row_id)
    },
  }
}

/** What counts for the daily limit: of the chain's coin also the highest fee. */
function spendOf(
  { row_id }: RelayerRow,
  { funding, pool }: AppliedFunding,
  amount: bigint,
  { gas_limit, data_fee }: { gas_limit: number; data_fee: bigint },
): Spend {
  const { asset, max_per_day, max_fee_per_gas } = funding
  const spent = asset === null ? amount + BigInt(gas_limit) * BigInt(max_fee_per_gas) + data_fee : amount
  return { policy: 'funding', asset: refillsOf(row_id, pool), amount: `${spent}`, limit: max_per_day }
}

function refusedAs({ code, details }: { code: string; details: Detail[] }): Result {
  const [detail] = details
  const reason = detail?.message ?? code
  if (detail?.path === 'policies/funding') return result('limit_reached', reason)
  if (code === 'unavailable') return result('unknown', reason)
  if (code === 'insufficient_funds')
    return result('treasury_short', `The treasury cannot pay: the transaction ${reason}`)
  return result('refused', `The treasury refuses: ${reason}`)
}
