import type {
  AccessList,
  AmountInput,
  Authorization,
  Metadata,
  SendTransactionRequest,
  SubmissionInput,
} from '../../generated/openapi.ts'
import { encodeCall } from './decoding/contract-call.ts'
import { badRequest } from './errors.ts'
import type { Tier } from './fees.ts'
import type { TransactionType } from './transaction-form.ts'
import type { TransactionRow, WholeTransactionRow } from './transaction-rows.ts'
import { readAddress, readAmount, readTime } from './values.ts'

/** A parsed request, in normal form: addresses and data in lower case hex, amounts as decimal strings in wei. */
export interface TransactionRequest {
  to: string | null
  value: string
  data: string | null
  /** What decodes the data, as human-readable ABI; null: nothing is known of it. */
  fragments: string[] | null
  gas_limit: number | null
  /** Null: it follows from the other members and the chain. */
  type: TransactionType | null
  tier: Tier | null
  gas_price: string | null
  max_fee_per_gas: string | null
  max_priority_fee_per_gas: string | null
  /** RFC 3339, UTC, milliseconds; undefined: not given; null: none. */
  valid_until: string | null | undefined
  /** Null: none. */
  access_list: TransactionRow['access_list']
  authorization_list: TransactionRow['authorization_list']
  /** The caller's, for a pool. */
  ordering_key: string | null
  /** The caller's; undefined: not given. */
  reference: string | null | undefined
  /** No other transaction of the chain may have it. */
  deduplication_id: string | null
  /** The caller's names and values; undefined: not given; null: none. */
  metadata: Metadata | null | undefined
  /** Undefined: not given. */
  submission: SubmissionInput | undefined
}

/** Normalizes a request. Throws DomainError (400) for faults that the contract's schema cannot express. */
export function readTransactionRequest(body: SendTransactionRequest): TransactionRequest {
  const { gas_price, max_fee_per_gas, max_priority_fee_per_gas } = body
  const to = body.to == null ? null : readAddress(body.to, ['to'])
  const value = readAmount(body.value ?? '0', ['value'])
  const call = body.call == null ? undefined : encodeCall(body.call, value)
  const data = call?.data ?? readBytes(body.data)
  if (to === null && data === null)
    throw badRequest(['to'], 'must be given when there is no data; only a contract creation has no receiver')
  if (body.authorization_list != null && to === null)
    throw badRequest(['to'], 'must be given with authorization_list: such a transaction cannot create a contract')
  if (gas_price != null && (max_fee_per_gas != null || max_priority_fee_per_gas != null)) {
    throw badRequest(['gas_price'], 'must not be combined with max_fee_per_gas or max_priority_fee_per_gas')
  }
  const prices = {
    gas_price: readPrice(gas_price, 'gas_price'),
    max_fee_per_gas: readPrice(max_fee_per_gas, 'max_fee_per_gas'),
    max_priority_fee_per_gas: readPrice(max_priority_fee_per_gas, 'max_priority_fee_per_gas'),
  }
  const { max_fee_per_gas: most, max_priority_fee_per_gas: tip } = prices
  if (most !== null && tip !== null) checkPriorityFee(BigInt(most), BigInt(tip))
  return {
    to,
    data,
    fragments: call?.fragments ?? null,
    ...prices,
    value,
    gas_limit: body.gas_limit ?? null,
    type: body.type ?? null,
    tier: body.speed === 'safeLow' ? ('safe_low' as const) : (body.speed ?? null),
    valid_until: body.valid_until == null ? body.valid_until : readTime(body.valid_until, ['valid_until']),
    // Half of a surrogate pair is no character, and no database stores it.
    ordering_key: body.ordering_key?.toWellFormed() ?? null,
    reference: body.reference,
    deduplication_id: body.deduplication_id?.toWellFormed() ?? null,
    metadata: readMetadata(body.metadata),
    submission: body.submission ?? undefined,
    access_list: readAccessList(body.access_list),
    authorization_list: readAuthorizations(body.authorization_list),
  }
}

const readPrice = (input: AmountInput | null | undefined, name: string): string | null =>
  input == null ? null : readAmount(input, [name])

/** Lower case with 0x; null when empty. */
function readBytes(input: string | null | undefined): string | null {
  const digits = (input ?? '').replace(/^0x/, '').toLowerCase()
  return digits === '' ? null : `0x${digits}`
}

const maxMetadataBytes = 4_096

function readMetadata(input: Metadata | null | undefined): Metadata | null | undefined {
  if (input == null) return input
  const bytes = Buffer.byteLength(JSON.stringify(input))
  if (bytes > maxMetadataBytes)
    throw badRequest(['metadata'], `must have at most ${maxMetadataBytes} bytes as JSON; it has ${bytes}`)
  const members = Object.entries(input).map(([name, value]) => [name, value.toWellFormed()])
  return members.length === 0 ? null : Object.fromEntries(members)
}

/** Its JSON stays below 20 KB, because a row is read and written many times. */
const maxStorageKeys = 200

/** Lower case; null when absent. An empty list counts as given. */
function readAccessList(input: AccessList | null | undefined): AccessList | null {
  if (input == null) return null
  const keys = input.reduce((count, { storage_keys }) => count + storage_keys.length, 0)
  if (keys > maxStorageKeys)
    throw badRequest(['access_list'], `must have at most ${maxStorageKeys} storage keys in all`)
  return input.map(({ address, storage_keys }, index) => ({
    address: readAddress(address, ['access_list', index, 'address']),
    storage_keys: storage_keys.map((key) => key.toLowerCase()),
  }))
}

function readAuthorizations(input: Authorization[] | null | undefined): Authorization[] | null {
  if (input == null) return null
  return input.map((authorization, index) => ({
    ...authorization,
    address: readAddress(authorization.address, ['authorization_list', index, 'address']),
    r: authorization.r.toLowerCase(),
    s: authorization.s.toLowerCase(),
  }))
}

/** Throws DomainError (400): the priority fee is part of the fee. */
export function checkPriorityFee(maxFee: bigint, maxPriorityFee: bigint): void {
  if (maxPriorityFee > maxFee)
    throw badRequest(['max_priority_fee_per_gas'], `must be at most max_fee_per_gas (${maxFee})`)
}

/** What a row asks for, whatever its prices. */
export const contentOfRow = (row: WholeTransactionRow) => ({
  to: row.to,
  value: row.value,
  data: row.data,
  fragments: row.fragments,
  gas_limit: row.gas_is_given ? row.gas_limit : null,
  access_list: row.access_list,
  authorization_list: row.authorization_list,
  ordering_key: null,
})
