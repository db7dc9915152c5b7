import type { Authorization } from '../../../generated/openapi.ts'
import { badRequest, DomainError, relayerPaused } from '../../domain/errors.ts'
import type { Ceiling } from '../../domain/fees.ts'
import type { AtCapacity, Capacity } from '../../domain/new-transaction.ts'
import { checkBudget, type KeyBudget } from '../../domain/policies/budgets.ts'
import { checkNewTransactions, checkPolicies } from '../../domain/policies/transaction-policies.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import type { TransactionRequest } from '../../domain/transaction-request.ts'

/** What a request is judged by. `budget`: of the caller's API key. `isNew`: not a replacement. */
interface Judging {
  now: number
  budget: KeyBudget | undefined
  isNew: boolean
}

/** The checks that need no chain, in the order in which their failures are reported. */
export function objections(
  relayer: RelayerRow,
  request: TransactionRequest,
  { now, budget, isNew }: Judging,
): DomainError[] {
  const checks = [
    () => checkPause(relayer),
    () => isNew && checkNewTransactions(relayer.policies),
    () => checkTime(request, now),
    () => checkPolicies(relayer, request),
    () => checkBudget(budget, relayer, request),
  ]
  return checks.flatMap((check) => {
    try {
      check()
      return []
    } catch (error) {
      if (error instanceof DomainError) return [error]
      throw error
    }
  })
}

/** Throws DomainError (400, 403) with the first check that fails. */
export function checkRequest(relayer: RelayerRow, request: TransactionRequest, judging: Judging): void {
  const [first] = objections(relayer, request, judging)
  if (first) throw first
}

export function checkPause({ paused }: RelayerRow): void {
  if (paused) throw relayerPaused()
}

function checkTime({ valid_until }: TransactionRequest, now: number) {
  if (valid_until != null && Date.parse(valid_until) <= now) throw badRequest(['valid_until'], 'has passed')
}

/**
 * Refuses authorizations (EIP-7702) that the chain would skip, and those of the relayer's own address: applying one uses the
 * account's next nonce, which this service assigns to a transaction. Throws DomainError (400).
 */
export function checkAuthorizations(
  { chain_id, address }: Pick<RelayerRow, 'chain_id' | 'address'>,
  authorizations: Authorization[] | null,
  authorityOf: (authorization: Authorization) => string | undefined,
): void {
  for (const [index, authorization] of (authorizations ?? []).entries()) {
    const field = ['authorization_list', index]
    if (authorization.chain_id !== 0 && authorization.chain_id !== chain_id) {
      throw badRequest([...field, 'chain_id'], `must be 0 or ${chain_id}, the chain of the relayer's network`)
    }
    const authority = authorityOf(authorization)
    if (authority === undefined) throw badRequest(field, 'has an invalid signature')
    if (authority === address) {
      throw badRequest(field, "must not be of the relayer's own address: applying it uses the account's next nonce")
    }
  }
}

export const isPriced = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: TransactionRequest): boolean =>
  gas_price !== null || max_fee_per_gas !== null || max_priority_fee_per_gas !== null

/** The highest prices that a request gives. */
export const requestedCeiling = ({
  gas_price,
  max_fee_per_gas,
  max_priority_fee_per_gas,
}: TransactionRequest): Ceiling => {
  const fee = gas_price ?? max_fee_per_gas
  return {
    fee: fee === null ? undefined : BigInt(fee),
    tip: max_priority_fee_per_gas === null ? undefined : BigInt(max_priority_fee_per_gas),
  }
}

const defaultMaxPending = 10_000
const defaultMaxPendingBytes = 64 * 1024 * 1024
/** About the block time, after which some transactions may have ended. */
const retryAfterS = 5

/**
 * The most unfinished transactions of a relayer, and the most bytes of data in them, so that one caller cannot fill the service.
 */
export const capacityOf = ({ policies }: Pick<RelayerRow, 'policies'>): Capacity => ({
  max_pending: policies.max_pending ?? defaultMaxPending,
  max_pending_bytes: policies.max_pending_bytes ?? defaultMaxPendingBytes,
})

/** The DomainError (429, with Retry-After) for a relayer with too many unfinished transactions. Nothing was changed. */
export function tooMany({ policy, limit }: AtCapacity): DomainError {
  const message =
    policy === 'max_pending'
      ? `The relayer has reached its limit of ${limit} unfinished transactions`
      : `The data of the relayer's unfinished transactions would exceed the limit of ${limit} bytes`
  return new DomainError('rate_limited', [{ of: 'policies', field: [policy], message }], { retry_after_s: retryAfterS })
}

export const dataBytes = ({ data }: { data: string | null }): number => (data === null ? 0 : (data.length - 2) / 2)
