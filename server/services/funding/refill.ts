import type { FundingStatus, SendTransactionRequest } from '../../../generated/openapi.ts'
import { proveCount } from '../../chain/proofs.ts'
import { transferCall } from '../../domain/encoding/contract-data.ts'
import { DomainError } from '../../domain/errors.ts'
import { capPrices, gwei, nextPrice, priceByTier, priceColumns } from '../../domain/fees.ts'
import { type AppliedFunding, refillsOf } from '../../domain/funding.ts'
import { serviceAccess } from '../../domain/node-access.ts'
import type { PendingAuditEntry, RelayerRow } from '../../domain/rows.ts'
import type { Spend } from '../../domain/transaction-rows.ts'
import { shownReason } from '../../domain/wait-reason.ts'
import type { NetworkClient, SenderContext } from '../../sender/context.ts'
import type { Refill } from '../../store/queries/treasuries.ts'
import type { Store } from '../../store/store.ts'
import { defaultTier } from '../transactions/quote.ts'
import { type Complete, send, type TransactionsContext } from '../transactions/send.ts'
import { availableTo } from './balance.ts'

interface RefillContext extends TransactionsContext, Pick<SenderContext, 'networkClient' | 'elapsed'> {}

/** How often the balance is read: while the relayer works, and while it does nothing. */
const checkMs = 5_000
const idleMs = 15_000
/** How often the transaction of a refill is looked at. */
const refillMs = 1_000
/** While nodes fail for less than this, nobody is alarmed. */
const patienceMs = 60_000
/** After a refill that failed. Each costs a fee. */
const restMs = 10 * 60_000
const maxReason = 1_000

interface Result {
  status: FundingStatus
  status_reason: string | null
}

const result = (status: FundingStatus, statusReason: string | null = null): Result => ({
  status,
  status_reason: statusReason === null ? null : statusReason.slice(0, maxReason),
})

/**
 * Keeps relayers supplied. A refill is accepted in one commit with its transaction, and only while none is open and no other one was
 * accepted since the decision. Whether it is open, and in which block it is, the row of its transaction says.
 */
export class Refills {
  readonly #context: RefillContext
  /** Since when the balance is unknown, and when to look again, by the relayer's row id. */
  readonly #unknownSince = new Map<number, number>()
  readonly #nextAt = new Map<number, number>()

  constructor(context: RefillContext) {
    this.#context = context
  }

  /** Examines a relayer if it is time to, and starts or follows its refill. Resolves to the milliseconds until the next time. */
  async work(rowId: number): Promise<number | undefined> {
    const { elapsed } = this.#context
    // The search for work wakes every row, at each change by another process.
    const earlyMs = (this.#nextAt.get(rowId) ?? 0) - elapsed()
    if (earlyMs > 0) return earlyMs
    this.#nextAt.set(rowId, elapsed() + checkMs)
    const waitMs = await this.#examine(rowId)
    // The settings were changed meanwhile.
    if (!this.#nextAt.has(rowId)) return 0
    this.#nextAt.set(rowId, elapsed() + (waitMs ?? 0))
    return waitMs
  }

  /** The settings were changed. */
  again(rowId: number): void {
    this.#nextAt.delete(rowId)
  }

  async leave(rowId: number): Promise<void> {
    this.#nextAt.delete(rowId)
    this.#unknownSince.delete(rowId)
  }

  async #examine(rowId: number): Promise<number | undefined> {
    const { store, elapsed } = this.#context
    const relayer = await store.getRelayerByRowId(rowId)
    const applied = relayer && (await store.fundingOf(relayer))
    if (!applied) return undefined
    const its = await examine(this.#context, relayer, applied)
    if (its.status === 'unknown') {
      const since = this.#unknownSince.get(rowId) ?? elapsed()
      this.#unknownSince.set(rowId, since)
      if (elapsed() - since >= patienceMs) await store.noteFunding(rowId, its)
    } else {
      this.#unknownSince.delete(rowId)
      await store.noteFunding(rowId, its)
    }
    if (its.status === 'refilling') return refillMs
    const isIdle = its.status === 'sufficient' && (await store.countUnfinished(rowId)) === 0
    return isIdle ? idleMs : checkMs
  }
}

async function examine(context: RefillContext, relayer: RelayerRow, applied: AppliedFunding): Promise<Result> {
  const { store } = context
  const { funding } = applied
  const refills = await store.refills(relayer.row_id)
  const open = refills.find(({ is_open }) => is_open)
  if (open) return follow(store, open)
  const client = await context.networkClient(relayer)
  const available = client && (await availableTo(relayer, client, store, { asset: funding.asset, refills }))
  if (available === 'behind') {
    await lookForReorganization(context, relayer, client as NetworkClient, refills)
    return result('unknown', 'The balance is unknown: most nodes lack the block of the last refill')
  }
  if (available === undefined) return result('unknown', 'The balance is unknown: most nodes do not answer')
  // A drained relayer gets what its unfinished transactions need: it may be swept.
  const isDrained = relayer.policies.allow_transactions === false
  const [min, target] = isDrained ? ['0', '0'] : [funding.min_balance, funding.target_balance]
  if (available >= BigInt(min)) return result('sufficient')
  const [last] = refills
  const failed = last && failureOf(last, context.now())
  if (failed) return result('refused', failed)
  return refill(context, relayer, applied, { amount: BigInt(target) - available, after: last?.row_id ?? null })
}

async function follow(store: Store, { treasury_row_id, transaction_id }: Refill): Promise<Result> {
  const row = await store.getTransaction(treasury_row_id, transaction_id)
  return result('refilling', row ? shownReason(row) : null)
}

/** A block may have been removed long after its transactions ended, when nobody watched: they are reopened. */
async function lookForReorganization(
  { store, nonces, wake }: RefillContext,
  relayer: RelayerRow,
  client: NetworkClient,
  [last]: Refill[],
): Promise<void> {
  const treasury = last && (await store.getRelayerByRowId(last.treasury_row_id))
  for (const its of treasury ? [relayer, treasury] : [relayer]) {
    const counted = await proveCount(client, its.address)
    if (!counted) continue
    await nonces.identity.follow(its, client, counted.fact.at_most)
    wake(its.row_id)
  }
}

/** Why the next refill must rest; undefined: it need not. */
function failureOf({ status, created_at }: Refill, now: number): string | undefined {
  if (status === null || status === 'confirmed' || now - Date.parse(created_at) > restMs) return undefined
  return `The last refill ended as ${status}; the next one starts ${restMs / 60_000} minutes after it`
}

async function refill(
  context: RefillContext,
  relayer: RelayerRow,
  applied: AppliedFunding,
  { amount, after }: { amount: bigint; after: number | null },
): Promise<Result> {
  const { funding } = applied
  const treasury = await context.keyring.findRelayer(funding.treasury_id)
  const price = await priceFor(context, treasury)
  if (price === undefined) return result('unknown', 'No node of the network answers')
  const { max_fee_per_gas } = funding
  if (price > BigInt(max_fee_per_gas)) {
    const reason = `The price of gas is ${gwei(price)}, above max_fee_per_gas (${gwei(max_fee_per_gas)})`
    return result('fee_too_high', reason)
  }
  const body: SendTransactionRequest = {
    ...(funding.asset === 'coin'
      ? { to: relayer.address, value: `${amount}` }
      : { to: funding.asset, value: '0', data: transferCall(relayer.address, amount) }),
    reference: `refill ${relayer.id}`,
  }
  // It starts at the market's price: `max_fee_per_gas` is what later prices may be.
  const complete: Complete = (transaction, quoted) => ({
    ...transaction,
    ...priceColumns(capPrices(quoted.prices, BigInt(max_fee_per_gas))),
    fee_ceiling: max_fee_per_gas,
    spending: [...(transaction.spending ?? []), spendOf(relayer, applied, amount, quoted)],
    refill: { relayer_row_id: relayer.row_id, asset: funding.asset, amount: `${amount}`, after },
  })
  const auditEntry = auditEntryOf(treasury.id, context.now())
  try {
    const asker = { authorize: async () => undefined, nodes: serviceAccess(), auditEntry }
    await send(context, asker, treasury.id, { body, complete })
    return result('refilling')
  } catch (error) {
    if (!(error instanceof DomainError) || error.code === 'outcome_unknown') throw error
    return refusedAs(error)
  }
}

/** The market's price in the next block; undefined: it is unknown. */
async function priceFor({ networkClient }: RefillContext, treasury: RelayerRow): Promise<bigint | undefined> {
  const client = await networkClient(treasury)
  const market = await client?.market().catch(() => undefined)
  if (!market) return undefined
  const kind = treasury.policies.eip1559_pricing === false ? 'legacy' : market.kind
  return nextPrice(priceByTier(market, defaultTier, kind), market)
}

const auditEntryOf = (relayerId: string, at: number): PendingAuditEntry => ({
  at,
  caller: 'service',
  operation: 'refill',
  relayer_id: relayerId,
  subject: null,
  http_status: 201,
  request_id: null,
  recorded: false,
})

/** What counts for the daily limit: of the chain's coin also the highest fee. */
function spendOf(
  { row_id }: RelayerRow,
  { funding, pool }: AppliedFunding,
  amount: bigint,
  { gas_limit, data_fee }: { gas_limit: number; data_fee: bigint },
): Spend {
  const { asset, max_amount_per_day, max_fee_per_gas } = funding
  const spent = asset === 'coin' ? amount + BigInt(gas_limit) * BigInt(max_fee_per_gas) + data_fee : amount
  return { policy: 'funding', asset: refillsOf(row_id, pool), amount: `${spent}`, limit: max_amount_per_day }
}

function refusedAs({ code, faults: [fault] }: DomainError): Result {
  const reason = fault?.message ?? code
  if (fault?.of === 'refill') return result('refilling')
  if (fault?.of === 'policies' && fault.field[0] === 'funding') return result('limit_reached', reason)
  if (code === 'unavailable') return result('unknown', reason)
  if (code === 'insufficient_funds')
    return result('treasury_short', `The treasury cannot pay: the transaction ${reason}`)
  return result('refused', `The treasury refuses: ${reason}`)
}
