import type { ErrorRequestHandler } from 'express'
import { DomainError, type ErrorCode, type Fault, type Field, type Subject } from '../../domain/errors.ts'
import { type Detail, detailsOf, messageOf, statusOf } from '../http/errors.ts'

/** The codes of JSON-RPC 2.0 (section 5.1), EIP-1474 and EIP-1193, and 3, with which nodes answer a revert. */
export const codes = {
  parse_error: -32700,
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  internal: -32603,
  /** EIP-1474 "invalid input": nodes refuse a transaction with it. */
  invalid_input: -32000,
  /** EIP-1474 "resource unavailable". No library sends again after it (viem does after -32000, -32005, -32602 and -32603). */
  outcome_open: -32002,
  transaction_rejected: -32003,
  limit_exceeded: -32005,
  reverted: 3,
  refused: 4001,
  unauthorized: 4100,
  disconnected: 4900,
} as const

export interface ErrorObject {
  code: number
  message: string
  data?: unknown
}

/** A failed call. `status`: the HTTP status that its audit entry gets. */
export class JsonRpcError extends Error {
  readonly code: number
  readonly data: unknown
  readonly status: number

  constructor(code: number, message: string, data?: unknown, status = 400) {
    super(message)
    this.name = 'JsonRpcError'
    this.code = code
    this.data = data
    this.status = status
  }
}

export const invalidParams = (message: string): JsonRpcError => new JsonRpcError(codes.invalid_params, message)

// ethers recognizes a missing method by this text, and then does without it.
export const methodNotFound = (method: string): JsonRpcError =>
  new JsonRpcError(codes.method_not_found, `the method ${method} does not exist/is not available${insteadOf(method)}`)

/** eth_sign would sign any 32 bytes, also the hash of a transaction. */
const insteadOf = (method: string): string =>
  method === 'eth_sign' ? ': use personal_sign or eth_signTypedData_v4' : ''

const maxMessageLength = 2_000

/** The error object for a failure; undefined for one that callers do not see. `revertData`: the bytes of a revert. */
export function errorObject(
  error: unknown,
  revertData: (error: DomainError) => string | undefined,
): ErrorObject | undefined {
  if (error instanceof JsonRpcError) {
    const { code, message, data = { details: [{ path: 'params', message }] } } = error
    return { code, message, data }
  }
  if (!(error instanceof DomainError) || error.code === 'internal') return undefined
  const { code } = error
  const data = code === 'execution_reverted' ? revertData(error) : { code, details: detailsOf(error) }
  const text = textOf(error)
  const message = (prefixes[code] ? `${prefixes[code]}${text && `: ${text}`}` : text).slice(0, maxMessageLength)
  return { code: byErrorCode[code], message, ...(data !== undefined && { data }) }
}

const byErrorCode: Record<ErrorCode, number> = {
  insufficient_funds: codes.invalid_input,
  not_found: codes.invalid_input,
  already_exists: codes.invalid_input,
  in_use: codes.invalid_input,
  invalid_state: codes.invalid_input,
  limit_reached: codes.invalid_input,
  already_sent: codes.invalid_input,
  possibly_sent: codes.invalid_input,
  precondition_failed: codes.invalid_input,
  precondition_required: codes.invalid_input,
  gas_limit_too_low: codes.invalid_input,
  method_not_allowed: codes.invalid_input,
  request_timeout: codes.invalid_input,
  payload_too_large: codes.invalid_input,
  unsupported_media_type: codes.invalid_input,
  expectation_failed: codes.invalid_input,
  header_too_large: codes.invalid_input,
  not_implemented: codes.invalid_input,
  internal: codes.internal,
  invalid_request: codes.invalid_params,
  idempotency_mismatch: codes.invalid_params,
  key_service_refused: codes.invalid_params,
  execution_reverted: codes.reverted,
  policy_violation: codes.refused,
  unauthorized: codes.unauthorized,
  forbidden: codes.unauthorized,
  relayer_paused: codes.unauthorized,
  rate_limited: codes.limit_exceeded,
  bad_gateway: codes.limit_exceeded,
  unavailable: codes.disconnected,
  outcome_unknown: codes.outcome_open,
}

// Libraries recognize these by the words that nodes use.
const prefixes: Partial<Record<ErrorCode, string>> = {
  insufficient_funds: 'insufficient funds for gas * price + value',
  execution_reverted: 'execution reverted',
  gas_limit_too_low: 'intrinsic gas too low',
}

function textOf(error: DomainError): string {
  const { revert_reason: reason } = error.data
  if (reason !== undefined) return reason
  const details = detailsOf(error)
  if (details.length === 0) return messageOf(error)
  return details.map((detail, index) => sentence(detail, error.faults[index])).join('; ')
}

/** Translates a schema's fault into the member names of JSON-RPC. */
export const inTheirNames = (fault: string): string =>
  fault.replaceAll(/\/(\w[\w/]*)/g, (_, path: string) => namePath(path.split('/')))

const namePath = (field: Field): string => field.map((name) => names.get(`${name}`) ?? name).join('.')

/** The member names of JSON-RPC for those of the contract. */
const names = new Map(
  Object.entries({
    gas_limit: 'gas',
    gas_price: 'gasPrice',
    max_fee_per_gas: 'maxFeePerGas',
    max_priority_fee_per_gas: 'maxPriorityFeePerGas',
    access_list: 'accessList',
    storage_keys: 'storageKeys',
    unsigned_transaction: 'the transaction',
  }),
)

/** The names of what a call carries. */
const subjects: Partial<Record<Subject, string>> = {
  input: 'the call',
  idempotency_key: 'idempotency-key',
  token: 'authorization',
  origin: 'origin',
}

function sentence({ path, message }: Detail, fault: Fault | undefined): string {
  // A call names a transaction by its nonce, and no part of the path.
  if (fault?.of === 'named') return message
  const subject = fault && subjects[fault.of]
  if (subject === undefined) return `${path}: ${message}`
  return `${fault && fault.field.length > 0 ? namePath(fault.field) : subject} ${message}`
}

/**
 * Answers a fault of the body as JSON-RPC does (JSON-RPC 2.0, section 5), with status 200, because libraries read the error only
 * then. Faults of the path, the query and the headers stay HTTP failures.
 */
export const jsonRpcFailure =
  (kind: 'parse_error' | 'invalid_request'): ErrorRequestHandler =>
  (error, _request, response, next) => {
    const details = error instanceof DomainError && statusOf[error.code] === 400 ? detailsOf(error) : []
    const isOfBody = details.length > 0 && details.every(({ path }) => path.startsWith('/body'))
    if (!isOfBody) return next(error)
    const phrase = kind === 'parse_error' ? 'Parse error' : 'Invalid Request'
    const reason = details.map((detail) => detail.message).join('; ')
    const answer = { code: codes[kind], message: `${phrase}: the body ${reason}`, data: { details } }
    response.status(200).json({ jsonrpc: '2.0', id: null, error: answer })
  }
