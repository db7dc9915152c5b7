import type { Authorization } from '../../generated/openapi.ts'
import { authorityOf } from './decoding/transaction.ts'

/**
 * What the success of a transaction needs beyond the status of its receipt. `delegated`: the account runs this code in the block
 * (EIP-7702), because a call to an account without code always succeeds. `forwarded`: the forwarder's event says that the call of this
 * signer succeeded (ERC-2771). Addresses in lower case.
 */
export type Effect =
  | { kind: 'delegated'; account: string; delegate: string }
  | { kind: 'forwarded'; forwarder: string; signer: string }

/** Whether the effect took place, by a node; `unknown`: the node cannot tell, for example because it has no state of that block. */
export type Outcome = 'done' | 'missed' | 'unknown'

/** Undefined: the receipt says all. Of a call whose authorizations name several codes for its account, the last one stays. */
export function effectOf({
  sponsored,
  to,
  data_bytes,
  authorization_list,
}: {
  sponsored: { effect?: Effect } | null
  to: string | null
  data_bytes: number
  authorization_list: Authorization[] | null
}): Effect | undefined {
  if (sponsored?.effect) return sponsored.effect
  // Without data nothing is called: its effect is the transfer of its value.
  if (to === null || data_bytes === 0) return undefined
  const own = authorization_list?.findLast((authorization) => authorityOf(authorization) === to)
  return own && { kind: 'delegated', account: to, delegate: own.address.toLowerCase() }
}
