import type { ReceiptView } from '../domain/decide.ts'
import type { Effect, Outcome } from '../domain/effect.ts'
import { toHex } from '../lib/hex.ts'
import type { Chain } from './chain.ts'
import { isRpcFailure } from './rpc.ts'

const noAddress = `0x${'0'.repeat(40)}`

/**
 * Whether a node shows the effect of a transaction in its block. A node that has no state of an old block ("missing trie node"), or that
 * does not answer, does not know: that is this transaction's result, and no other's.
 */
export async function outcomeOf({ code }: Pick<Chain, 'code'>, effect: Effect, seen: ReceiptView): Promise<Outcome> {
  if (effect.kind === 'forwarded') return isForwarded(effect, seen)
  const { account, delegate } = effect
  try {
    const wanted = delegate === noAddress ? '0x' : `0xef0100${delegate.slice(2)}`
    return toHex(await code(account, seen.block_number)) === wanted ? 'done' : 'missed'
  } catch (error) {
    if (!isRpcFailure(error)) throw error
    return 'unknown'
  }
}

function isForwarded(
  { forwarder, signer }: Extract<Effect, { kind: 'forwarded' }>,
  { forwarded = [], logs_count }: ReceiptView,
): Outcome {
  if (logs_count === undefined) return 'unknown'
  const own = forwarded.filter((one) => one.forwarder === forwarder && one.signer === signer)
  return own.some(({ succeeded }) => succeeded) ? 'done' : 'missed'
}
