import type { DryRun, SendTransactionRequest } from '../../../generated/openapi.ts'
import { readCall } from '../../domain/decoding/decoded-call.ts'
import { alreadySent, DomainError } from '../../domain/errors.ts'
import { priceColumns } from '../../domain/fees.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import type { Caller } from '../../domain/operation.ts'
import { checkFees, feeOf } from '../../domain/policies/fee-policies.ts'
import { checkPoolPolicies, overLimit, poolSpendingOf, spendingOf } from '../../domain/policies/transaction-policies.ts'
import type { PoolRow } from '../../domain/rows.ts'
import { readTransactionRequest, type TransactionRequest } from '../../domain/transaction-request.ts'
import type { Store } from '../../store/store.ts'
import { capacityOf, dataBytes, objections, tooMany } from './check-request.ts'
import { type Member, membersInOrder } from './pick-relayer.ts'
import { checkFunds, gasOf, quoteTransaction, unlimited } from './quote.ts'
import { type TransactionsContext, warningsOf } from './send.ts'

/** As the contract has it, but for the refusals. */
type DryRunResult = Omit<DryRun, 'refusals'> & { refusals: DomainError[] }

const noPrices = { gas_price: null, max_fee_per_gas: null, max_priority_fee_per_gas: null }

/** Whose transaction it would be, and its access to nodes. */
type DryRunner = { nodes: NodeAccess; caller: Pick<Caller, 'budget'> }

/** Runs every check of sending without accepting the transaction. Collects all failures instead of stopping at the first. */
export async function dryRun(
  context: TransactionsContext,
  { nodes, caller: { budget } }: DryRunner,
  relayerId: string,
  body: SendTransactionRequest,
): Promise<DryRunResult> {
  const { store } = context
  const relayer = await context.keyring.findRelayer(relayerId)
  const { chain_id, address } = relayer
  const request = readTransactionRequest(body)
  const refusals = objections(relayer, request, { now: context.now(), budget, isNew: true })
  const refused = (error: unknown): undefined => {
    if (!(error instanceof DomainError)) throw error
    refusals.push(error)
  }

  const [quote, gas] = await Promise.all([
    quoteTransaction(context, nodes, { relayer, request }).catch(refused),
    gasOf(context, nodes, { relayer, request }),
  ])
  for (const check of [checkFees, checkFunds]) {
    try {
      if (quote) check(relayer, quote)
    } catch (error) {
      refused(error)
    }
  }
  const fee = quote && feeOf(quote)
  const over = await store.wouldExceed({ chain_id, address }, spendingOf(relayer, request, { fee, budget }))
  if (over) refusals.push(overLimit(over))
  const exceeded = await store.exceededCapacity(relayer.row_id, dataBytes(request), capacityOf(relayer))
  if (exceeded) refusals.push(tooMany(exceeded))
  const { deduplication_id: id } = request
  const sent = id === null ? undefined : await store.sentWith(chain_id, id)
  if (sent) refusals.push(alreadySent(sent))
  const { next_nonce } = await store.getAccount(chain_id, address)

  return {
    relayer_id: relayer.id,
    accepted: refusals.length === 0,
    call: quote ? readCall(quote.fragments, request.data) : null,
    refusals,
    nonce: quote ? Math.max(next_nonce, quote.latest) : null,
    gas_limit: quote?.gas_limit ?? null,
    ...(quote ? priceColumns(quote.prices) : noPrices),
    max_cost: quote ? quote.max_cost.toString() : null,
    balance: quote && quote.balance !== unlimited ? quote.balance.toString() : null,
    reserved_cost: quote ? quote.reserved.toString() : null,
    gas,
    warnings: quote ? warningsOf(relayer, request, quote) : [],
  }
}

/** The dry run of the relayer of the pool that would take it now; if none would, of the first choice. */
export async function dryRunInPool(
  context: TransactionsContext,
  runner: DryRunner,
  pool: PoolRow,
  body: SendTransactionRequest,
): Promise<DryRunResult> {
  const request = readTransactionRequest(body)
  const { members, done } = await membersInOrder(context, pool, request.ordering_key)
  try {
    const refusals = await refusalsOfPool(context.store, pool, request, (members[0] as Member).relayer.chain_id)
    let shown: DryRunResult | undefined
    for (const { relayer } of members) {
      const its = await dryRun(context, runner, relayer.id, body)
      if (shown === undefined || its.accepted) shown = its
      if (its.accepted) break
    }
    const its = shown as DryRunResult
    return { ...its, accepted: its.accepted && refusals.length === 0, refusals: [...its.refusals, ...refusals] }
  } finally {
    done()
  }
}

async function refusalsOfPool(
  store: Store,
  pool: PoolRow,
  request: TransactionRequest,
  chainId: number,
): Promise<DomainError[]> {
  try {
    checkPoolPolicies(pool, request)
    const over = await store.wouldExceed({ chain_id: chainId, address: '' }, poolSpendingOf(pool, request))
    return over ? [overLimit(over)] : []
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return [error]
  }
}
