import { noBlobs, wrongChainId } from '../../domain/errors.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { codes, invalidParams, JsonRpcError } from './errors.ts'

/** A transaction as callers of eth_sendTransaction and eth_signTransaction give it. */
interface TransactionObject {
  /** As the caller gave it. */
  from: unknown
  /** In the contract's form; the contract's schema checks the members. */
  body: unknown
  nonce: number | undefined
}

type Members = Record<string, unknown>

const known: ReadonlySet<string> = new Set([
  ...['from', 'to', 'value', 'data', 'input', 'gas', 'gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas'],
  ...['nonce', 'type', 'accessList', 'chainId'],
])
const blobs: ReadonlySet<string> = new Set(['blobs', 'blobVersionedHashes', 'maxFeePerBlobGas', 'kzg', 'sidecars'])
const address = /^0x[0-9a-fA-F]{40}$/
const bytes = /^0x(?:[0-9a-fA-F]{2})*$/
const quantity = /^0x[0-9a-fA-F]{1,64}$/

/** Throws JsonRpcError for anything that the service would not carry out exactly as it is given. */
export function readTransactionObject(input: unknown, { chain_id: wanted }: RelayerRow): TransactionObject {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw invalidParams('params[0] must be a transaction object, for example {"to": "0x...", "value": "0x1"}')
  const members = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))
  checkNames(members)
  const chainId = numberIn(members, 'chainId')
  if (chainId !== undefined && chainId !== BigInt(wanted))
    throw invalidParams(`chainId ${wrongChainId(wanted, chainId)}`)

  const type = typeIn(members)
  const [gasPrice, maxFee, maxTip] = ['gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas'].map((name) =>
    numberIn(members, name)?.toString(),
  )
  if (type === 2 && gasPrice !== undefined) throw invalidParams('gasPrice cannot be given with type 0x2')
  if ((type === 0 || type === 1) && (maxFee !== undefined || maxTip !== undefined))
    throw invalidParams(`maxFeePerGas and maxPriorityFeePerGas cannot be given with type 0x${type}`)
  const gas = numberIn(members, 'gas')
  const nonce = numberIn(members, 'nonce')
  const data = dataIn(members)
  const accessList = accessListIn(members)
  if (type === 0 && accessList && accessList.length > 0) throw invalidParams('accessList cannot be given with type 0x0')
  return {
    from: members.from,
    nonce: nonce === undefined ? undefined : safe(nonce, 'nonce'),
    body: {
      ...(members.to !== undefined && { to: textIn(members, 'to', address, 'an address') }),
      value: (numberIn(members, 'value') ?? 0n).toString(),
      ...(data !== undefined && { data }),
      ...(type !== undefined && { type }),
      ...(accessList && accessList.length > 0 && { access_list: accessList }),
      ...(gas !== undefined && { gas_limit: safe(gas, 'gas') }),
      ...(gasPrice !== undefined && { gas_price: gasPrice }),
      ...(maxFee !== undefined && { max_fee_per_gas: maxFee }),
      ...(maxTip !== undefined && { max_priority_fee_per_gas: maxTip }),
    },
  }
}

/** The relayer with this address. Absent: the only one. Throws JsonRpcError (4100) for another address. */
export function relayerOf(account: unknown, relayers: RelayerRow[]): RelayerRow {
  const [first] = relayers as [RelayerRow]
  if (account === undefined && relayers.length === 1) return first
  if (typeof account !== 'string' || !address.test(account)) throw invalidParams('the account must be an address')
  const found = relayers.find((relayer) => relayer.address === account.toLowerCase())
  if (found) return found
  const whose = relayers.length === 1 ? `${first.address}, the relayer's` : 'the address of a relayer of the pool'
  throw new JsonRpcError(codes.unauthorized, `the account must be ${whose}; it is ${account}`)
}

function checkNames(members: Members): void {
  for (const name of Object.keys(members)) {
    if (known.has(name)) continue
    if (blobs.has(name)) throw invalidParams(noBlobs)
    if (name === 'authorizationList') throw withAuthorizations()
    throw invalidParams(`${/^\w{1,40}$/.test(name) ? name : 'a member'} is not known in a transaction`)
  }
}

/** As EIP-2930 has it in JSON. The contract's schema checks the members. */
function accessListIn({ accessList }: Members): { address: unknown; storage_keys: unknown }[] | undefined {
  if (accessList === undefined) return undefined
  if (!Array.isArray(accessList)) throw invalidParams('accessList must be an array')
  return accessList.map((entry) => {
    const { address, storageKeys = [], ...others } = (entry ?? {}) as Members
    if (Object.keys(others).length > 0) throw invalidParams('accessList has objects with address and storageKeys only')
    return { address, storage_keys: storageKeys }
  })
}

const withAuthorizations = () =>
  invalidParams('transactions with authorizations (EIP-7702) are sent by the operation "Send a transaction"')

function typeIn(members: Members): 0 | 1 | 2 | undefined {
  const type = numberIn(members, 'type')
  if (type === undefined) return undefined
  if (type === 0n || type === 1n || type === 2n) return Number(type) as 0 | 1 | 2
  if (type === 3n) throw invalidParams(noBlobs)
  if (type === 4n) throw withAuthorizations()
  throw invalidParams(`transactions of type 0x${type.toString(16)} are not supported`)
}

function dataIn(members: Members): string | undefined {
  const [data, input] = ['data', 'input'].map((name) =>
    members[name] === undefined ? undefined : textIn(members, name, bytes, 'bytes as hex with 0x'),
  )
  if (data !== undefined && input !== undefined && data.toLowerCase() !== input.toLowerCase())
    throw invalidParams('data and input must be the same when both are given')
  return data ?? input
}

function textIn(members: Members, name: string, pattern: RegExp, what: string): string {
  const value = members[name]
  if (typeof value === 'string' && pattern.test(value)) return value
  throw invalidParams(`${name} must be ${what}`)
}

function numberIn(members: Members, name: string): bigint | undefined {
  const value = members[name]
  if (value === undefined) return undefined
  if (typeof value === 'string' && quantity.test(value)) return BigInt(value)
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  throw invalidParams(`${name} must be a quantity as hex with 0x, for example 0x5208`)
}

function safe(value: bigint, name: string): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw invalidParams(`${name} is too large`)
  return Number(value)
}
