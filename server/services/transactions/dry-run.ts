import type { DryRun, SendTransactionRequest } from '../../../generated/openapi.ts'
import { readCall } from '../../domain/decoding/decoded-call.ts'
import { DomainError } from '../../domain/errors.ts'
import { priceColumns } from '../../domain/fees.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import { checkFees, feeOf } from '../../domain/policies/fee-policies.ts'
import { overLimit, spendingOf } from '../../domain/policies/transaction-policies.ts'
import { readTransactionRequest } from '../../domain/transaction-request.ts'
import type { SenderContext } from '../../sender/context.ts'
import { capacityOf, dataBytes, objections, tooMany } from './check-request.ts'
import { checkFunds, type Preparation, unlimited } from './quote.ts'
import { warningsOf } from './warnings.ts'

export interface DryRunDependencies extends Pick<SenderContext, 'store' | 'findRelayer' | 'now'> {
  preparation: Preparation
}

/** As the contract has it, but for the refusals. */
export type DryRunResult = Omit<DryRun, 'refusals'> & { refusals: DomainError[] }

const noPrices = { gas_price: null, max_fee_per_gas: null, max_priority_fee_per_gas: null }

/** Runs every check of sending without accepting the transaction. Collects all failures instead of stopping at the first. */
export function createDryRun({ store, findRelayer, preparation, now }: DryRunDependencies) {
  return async (nodes: NodeAccess, relayerId: string, body: SendTransactionRequest): Promise<DryRunResult> => {
    const relayer = await findRelayer(relayerId)
    const { chain_id, address } = relayer
    const request = readTransactionRequest(body)
    const refusals = objections(relayer, request, now())

    const [quote, gas] = await Promise.all([
      preparation.quote(nodes, relayer, request).catch(noting),
      preparation.gasOf(nodes, relayer, request),
    ])
    for (const check of [() => quote && checkFees(relayer, quote), () => quote && checkFunds(relayer, quote)]) {
      try {
        check()
      } catch (error) {
        noting(error)
      }
    }
    const fee = quote && feeOf(quote)
    const over = await store.wouldExceed({ chain_id, address }, spendingOf(relayer, request, fee))
    if (over) refusals.push(overLimit(over))
    const exceeded = await store.exceededCapacity(relayer.row_id, dataBytes(request), capacityOf(relayer))
    if (exceeded) refusals.push(tooMany(exceeded))
    const { next_nonce } = await store.getAccount(chain_id, address)

    const call = quote && readCall(quote.fragments, request.data)
    return {
      accepted: refusals.length === 0,
      ...(call && { call }),
      refusals,
      nonce: quote ? Math.max(next_nonce, quote.latest) : null,
      gas_limit: quote?.gas_limit ?? null,
      ...(quote ? priceColumns(quote.prices) : noPrices),
      max_cost: quote ? quote.max_cost.toString() : null,
      balance: quote && quote.balance !== unlimited ? quote.balance.toString() : null,
      reserved: quote ? quote.reserved.toString() : null,
      gas,
      warnings: quote ? warningsOf(relayer, request, quote) : [],
    }

    function noting(error: unknown): undefined {
      if (!(error instanceof DomainError)) throw error
      refusals.push(error)
    }
  }
}
