import { invalidParams, JsonRpcError } from './errors.ts'

type Members = Record<string, unknown>

/** The codes of the relayer_* draft (github.com/ethereum/ERCs, pull request 1716) and of the clients in use. */
export const relayer_codes = {
  timeout: -32070,
  not_allowed: 4100,
  unsupported_payment: 4202,
  budget_used: 4205,
  other_chain: 4206,
  unknown_id: 4208,
  invalid_authorization: 4210,
  would_revert: 4211,
} as const

const usual_wait_ms = 10_000
const max_wait_ms = 60_000

/** The members of the first parameter. Throws JsonRpcError. */
export const membersIn = ([first]: unknown[]): Members => membersOf(first, 'params')

/** Throws JsonRpcError. */
function membersOf(given: unknown, name: string): Members {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw invalidParams(`${name} must be an object`)
  return given as Members
}

/** What clients send that changes nothing here: every call is simulated, and gas is estimated. */
const without_effect = ['context', 'gas', 'skipSimulation', 'timeout']
const known = new Set(['chainId', 'to', 'data', 'authorizationList', 'payment', ...without_effect])

/** The call in the contract's form; its schema checks the members. Throws JsonRpcError. */
export function readSend(members: Members, chain_id: number): unknown {
  const { chainId, to, data, authorizationList, payment } = members
  const unknown = Object.keys(members).find((name) => !known.has(name))
  if (unknown !== undefined) throw invalidParams(`${/^\w{1,40}$/.test(unknown) ? unknown : 'a member'} is not known`)
  checkChain(chainId, chain_id)
  if (payment !== undefined && payment !== null && membersOf(payment, 'payment').type !== 'sponsored')
    throw new JsonRpcError(relayer_codes.unsupported_payment, 'payment must be {"type": "sponsored"}')
  const hasAuthorization = authorizationList !== undefined && authorizationList !== null
  if (hasAuthorization && !Array.isArray(authorizationList)) throw invalidParams('authorizationList must be an array')
  const authorizations = hasAuthorization ? authorizationList.map(authorizationIn) : []
  return {
    ...{ to, data },
    ...(authorizations.length > 0 && { authorization_list: authorizations }),
  }
}

/** The member names of JSON-RPC for those of the contract. */
const authorizationIn = (given: unknown): unknown => {
  const { chainId, address, nonce, r, s, yParity } = membersOf(given, 'each of authorizationList')
  const numbers = { chain_id: numberIn(chainId), nonce: numberIn(nonce), y_parity: numberIn(yParity) }
  return { ...numbers, address, r, s }
}

/** A number, or one as hex of up to 32 bytes; anything else stays as it is, for the schema to refuse. */
const numberIn = (value: unknown): unknown =>
  typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value) ? Number(value) : value

/** Throws JsonRpcError. */
export function checkChain(given: unknown, chain_id: number): void {
  if (typeof given !== 'string' || !/^[0-9]{1,16}$/.test(given))
    throw invalidParams('chainId must be a decimal text, for example "1"')
  if (given !== `${chain_id}`)
    throw new JsonRpcError(relayer_codes.other_chain, `the sponsorship is on chain ${chain_id}; chainId is ${given}`)
}

/** How long relayer_sendTransactionSync waits. Throws JsonRpcError. */
export function readWait(params: unknown[]): number {
  const { timeout = usual_wait_ms } = membersIn(params)
  if (typeof timeout !== 'number' || !(timeout >= 0 && timeout <= max_wait_ms))
    throw invalidParams(`timeout must be 0 to ${max_wait_ms} milliseconds`)
  return timeout
}
