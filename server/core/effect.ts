import type { TransactionError } from '../../generated/openapi.ts'
import type { Seen } from './decide.ts'
import { authorityOf } from './decoding/signed-transaction.ts'
import { errorOf } from './outcome.ts'
import type { TransactionRow } from './sending-rows.ts'

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
}: Pick<TransactionRow, 'sponsored' | 'to' | 'data_bytes' | 'authorization_list'>): Effect | undefined {
  if (sponsored?.effect) return sponsored.effect
  // Without data nothing is called: its effect is the transfer of its value.
  if (to === null || data_bytes === 0) return undefined
  const own = authorization_list?.findLast((authorization) => authorityOf(authorization) === to)
  return own && { kind: 'delegated', account: to, delegate: own.address.toLowerCase() }
}

/** Of a transaction whose effect did not take place. */
export function missedError(effect: Effect, { block_number }: Seen): TransactionError {
  if (effect.kind === 'forwarded')
    return errorOf('not_forwarded', `The forwarder ${effect.forwarder} did not carry out the call of ${effect.signer}`)
  const { account, delegate } = effect
  const text =
    `Nothing was executed: in block ${block_number} the account ${account} does not run the code ${delegate} (EIP-7702). ` +
    'Its authorization did not apply, or its delegation was changed. A value that it was sent has arrived'
  return errorOf('not_delegated', text)
}
