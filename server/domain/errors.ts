import type { Failure } from '../../generated/openapi.ts'

/**
 * What can go wrong, as callers branch on it: a code is never renamed. The API (api/http/errors.ts, api/json-rpc/errors.ts) gives each
 * its status, its sentence and its number in JSON-RPC. The error catalogue in openapi.yaml describes each code.
 */
export type ErrorCode =
  | 'invalid_request'
  | 'insufficient_funds'
  | 'execution_reverted'
  | 'unauthorized'
  | 'forbidden'
  | 'policy_violation'
  | 'relayer_paused'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'already_exists'
  | 'in_use'
  | 'invalid_state'
  | 'limit_reached'
  | 'already_sent'
  | 'possibly_sent'
  | 'precondition_failed'
  | 'precondition_required'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'idempotency_mismatch'
  | 'gas_limit_too_low'
  | 'key_service_refused'
  | 'rate_limited'
  | 'header_too_large'
  | 'internal'
  | 'not_implemented'
  | 'bad_gateway'
  | 'unavailable'
  | 'outcome_unknown'

/** The path of a member in a value, for example `['items', 3, 'value']`. Empty: the whole value. */
export type Field = readonly (string | number)[]

/** What a reason is about: the value that the caller gave, or something that the service knows. */
export type Subject =
  | 'input'
  | 'idempotency_key'
  | 'if_match'
  /** A resource as it is now. */
  | 'current'
  /** The caller's API key as the request carries it. */
  | 'token'
  | 'api_key'
  /** The resource that the caller names. */
  | 'named'
  | 'origin'
  | 'policies'
  | 'pool_policies'
  /** Of the caller's API key. */
  | 'budget'
  | 'sponsorship'
  | 'facilitator'
  | 'relayer'
  | 'pool'
  /** The page of a list. */
  | 'page'
  /** The ceiling of a cancellation. */
  | 'max_fee_per_gas'
  | 'signer'
  | 'network'
  | 'node'
  | 'node_calls'
  | 'next_nonce'
  | 'refill'
  | 'store'
  | 'audit'
  | 'process'

/** One reason for an error. `field`: the member of the subject. */
export interface Fault {
  of: Subject
  field: Field
  message: string
  /** What it is, where the error's code does not say it. */
  code?: 'not_found' | 'expired'
  /** When a limit that refuses has room again; absent: no time is known. RFC 3339. */
  resets_at?: string
  /** The member of a batch that failed, when the fault is not of the value. */
  member?: Field
}

/** What an error names of a transaction. `pool_id`: the pool that it was sent through, whose keys may read it too. */
export type SentTransaction = NonNullable<Failure['transaction']> & { pool_id?: string | null }

interface ErrorData {
  /** Nothing was changed, and the same request may succeed after this time. */
  retry_after_s?: number
  /** Why the transaction would revert; empty: without a reason. */
  revert_reason?: string
  /** Of the account, when the nonce that the caller gave is another one. */
  next_nonce?: number
  /** The present revision of the resource. */
  revision?: string
  /** The transaction that is the reason. It is named to those who may read it. */
  transaction?: SentTransaction
}

/**
 * Every failure that is reported to a caller. Any other error is logged, and the caller gets "Internal Server Error". `reason`: a
 * sentence of its own, or faults, which the API heads with the sentence of the code.
 */
export class DomainError extends Error {
  readonly code: ErrorCode
  readonly sentence: string | undefined
  readonly faults: readonly Fault[]
  readonly data: ErrorData

  constructor(code: ErrorCode, reason: string | readonly Fault[], data: ErrorData = {}) {
    super(typeof reason === 'string' ? reason : reason.map(({ message }) => message).join('; '))
    this.name = 'DomainError'
    this.code = code
    this.sentence = typeof reason === 'string' ? reason : undefined
    this.faults = typeof reason === 'string' ? [] : reason
    this.data = data
  }
}

/** Runs `work` for a member of a batch. A failure names the member: the fault of a value gets its path there. */
export async function withBatchIndex<T>(list: string, index: number, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof DomainError) || error.faults.length === 0) throw error
    const member: Field = [list, index]
    const faults = error.faults.map(
      (fault): Fault =>
        fault.of === 'input' ? { ...fault, field: [...member, ...fault.field] } : { ...fault, member },
    )
    throw new DomainError(error.code, faults, error.data)
  }
}

/** The value that the caller gave has a fault. */
export const inputFault = (field: Field, message: string): Fault => ({ of: 'input', field, message })

/** An error about something that the service knows. */
export const errorOf = (code: ErrorCode, of: Subject, message: string, data?: ErrorData): DomainError =>
  new DomainError(code, [{ of, field: [], message }], data)

/** An error about the resource that the caller names. `name`: of the path's parameter with its id. */
export const namedError = (
  code: 'not_found' | 'in_use' | 'invalid_state',
  name: string,
  message: string,
): DomainError => new DomainError(code, [{ of: 'named', field: [name], message }])

/** The value matches the contract's schema and cannot be carried out. */
export const badRequest = (field: Field, message: string): DomainError =>
  new DomainError('invalid_request', [inputFault(field, message)])

/** The value names something that does not exist, or that the caller may not use. */
export const unknownReference = (field: Field, message: string): DomainError =>
  new DomainError('invalid_request', [{ ...inputFault(field, message), code: 'not_found' }])

/** The state of the transaction that the caller names does not allow the change. */
export const invalidTransaction = (message: string): DomainError =>
  namedError('invalid_state', 'transaction_id', message)

const noMember = 'The pool has no relayer with a weight above 0: add one to its relayer_ids'

/** The pool that a request names. A repetition of the request does not help. */
export const poolIsEmpty = (): DomainError => namedError('invalid_state', 'pool_id', noMember)

/** The pool of what a request names. */
export const poolBehindIsEmpty = (): DomainError => errorOf('unavailable', 'pool', noMember)

/** The network of what a request names was deleted meanwhile. */
export const networkDeleted = (): DomainError => errorOf('unavailable', 'network', 'The network was deleted')

/** A caller names a network that does not exist. */
export const unknownNetwork = (): DomainError => unknownReference(['network'], 'no network has this name')

/** The end of a sentence that begins with the name of the chain id. */
export const wrongChainId = (expected: number, given: bigint): string =>
  `must be ${expected}, as the relayer's network has it; it is ${given}`

/** The account cannot pay for the transaction. `member`: what costs the most. */
export const insufficientFunds = (member: 'value' | 'gas_price' | 'max_fee_per_gas', message: string): DomainError =>
  new DomainError('insufficient_funds', [inputFault([member], message)])

/** What the caller gave does not fit what exists. */
export const conflict = (
  code: 'already_exists' | 'invalid_state' | 'limit_reached',
  field: Field,
  message: string,
): DomainError => new DomainError(code, [inputFault(field, message)])

export const notFound = (message: string): DomainError => new DomainError('not_found', message)

// These messages are part of the contract: clients of the OpenZeppelin Relayer compare them.
export const relayerNotFound = (id: string): DomainError => notFound(`Relayer with ID ${id} not found`)
export const transactionNotFound = (id: string): DomainError => notFound(`Transaction with ID ${id} not found`)
export const notificationNotFound = (): DomainError => notFound('Notification not found')
export const apiKeyNotFound = (): DomainError => notFound('API key not found')

const noId = (name: string, kind: string) => (): DomainError => namedError('not_found', name, `no ${kind} has this id`)
export const poolNotFound = noId('pool_id', 'pool')

/** What is said of a resource that does not exist, by the parameter of the path that names it. */
const missingErrors = {
  relayer_id: relayerNotFound,
  transaction_id: transactionNotFound,
  nonce: (nonce: string) => notFound(`Transaction with nonce ${nonce} not found`),
  notification_id: notificationNotFound,
  api_key_id: apiKeyNotFound,
  pool_id: poolNotFound,
  network_id: noId('network_id', 'network'),
  signer_id: noId('signer_id', 'signer'),
  abi_id: noId('abi_id', 'ABI'),
  problem_id: noId('problem_id', 'present problem'),
  sponsorship_id: noId('sponsorship_id', 'sponsorship'),
  facilitator_id: noId('facilitator_id', 'facilitator'),
  payment_id: noId('payment_id', 'payment'),
  call_id: noId('call_id', 'call'),
  user: () => namedError('not_found', 'user', 'no call is of this user'),
}

export const missing = (name: keyof typeof missingErrors, id: string): DomainError => missingErrors[name](id)

/** Why a caller without a right to all relayers may not do what concerns all of them. */
export const limitedToRelayers = 'this API key is limited to relayers; the operation requires a key for all relayers'

export const noBlobs = 'blob transactions (EIP-4844) are not supported'

/** The sentence that clients of the interface compare, for a signature of a message only. */
export const relayerOfMessageNotFound = (): DomainError => notFound('Not found')

/** A transaction of the chain has the caller's deduplication_id. */
export const alreadySent = (transaction: SentTransaction): DomainError =>
  new DomainError('already_sent', [inputFault(['deduplication_id'], 'another transaction of this chain has it')], {
    transaction,
  })

/** The nonce that the caller gave is not the next one. */
export const wrongNonce = (nextNonce: number): DomainError =>
  new DomainError('invalid_state', [inputFault(['nonce'], `must be ${nextNonce}, the next nonce`)], {
    next_nonce: nextNonce,
  })

/** The database cannot be used, and nothing was changed. */
export class StoreUnavailable extends DomainError {
  /** The store has logged that the database is down. */
  readonly isLogged: boolean

  constructor({ isLogged = false } = {}) {
    const message = 'The database is unavailable; try again later'
    super('unavailable', [{ of: 'store', field: [], message }], { retry_after_s: 1 })
    this.isLogged = isLogged
  }
}

/** Policies refuse the request. The faults name each of them. */
export const refusedBy = (faults: readonly Fault[]): DomainError => new DomainError('policy_violation', faults)

/** A paused relayer signs and sends nothing. */
export const relayerPaused = (): DomainError => new DomainError('relayer_paused', 'Relayer paused')

/** Settings, files or a database that the service cannot start with. The message has one line for each fault, and no secret. */
export class ConfigError extends Error {}
