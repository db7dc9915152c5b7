import type { Proof } from './proof.ts'

/** For how many blocks most endpoints must report a count before it is accepted, or disables, without a signed transaction. */
const doubtBlocks = 3
/** The most by which endpoints raise the nonce counter without a signed transaction. */
const plausibleStep = 64

/** The counts of the account's transactions by most of all endpoints. */
interface Counts {
  at_least: number
  head: number
}

export interface CountFacts<C extends Counts, S extends { nonce: number; hash: string }> {
  /** The nonce counter. */
  next_nonce: number
  /** Undefined: too few endpoints answer. */
  counted: Proof<C> | undefined
  /** The signed transaction that used the last nonce of the count; undefined: no node shows it. */
  signed: Proof<S> | undefined
  /** Whether there are at least two endpoints, so that one could contradict the other. */
  isWitnessed: boolean
  /** The height at which a count above the counter was first reported. */
  from_block: number
  /** An operator asks to follow the chain. `stated`: the count as the operator knows it. */
  request: { stated: number | undefined } | undefined
}

type CountVerdict<C extends Counts, S extends { nonce: number; hash: string }> =
  /** The count is not above the counter. */
  | { do: 'use'; latest: number }
  /** Nothing is signed until more is known. */
  | { do: 'wait' }
  | { do: 'raise'; to: number; evidence: string; proof: Proof<C> | Proof<S> }
  | { do: 'disable'; proof: Proof<C> }
  /** The count that the operator states cannot be right. */
  | { do: 'refuse'; stated: number; counted: number }

/**
 * What to do about an account's count on chain that may exceed the nonce counter. Pure. The counter is raised by a signed transaction
 * at the preceding nonce; by most of at least two endpoints over 3 blocks, by at most 64; or on request, by most of at least two
 * endpoints or by the operator's own count, which the endpoints' must support. A larger count without evidence for 3 blocks disables
 * the relayer.
 */
export function judgeCount<C extends Counts, S extends { nonce: number; hash: string }>({
  next_nonce,
  counted: proof,
  signed,
  isWitnessed,
  from_block,
  request,
}: CountFacts<C, S>): CountVerdict<C, S> {
  if (!proof) return { do: 'wait' }
  const { at_least: counted, head } = proof.fact
  if (counted <= next_nonce) return { do: 'use', latest: counted }
  if (signed && signed.fact.nonce >= next_nonce && signed.fact.nonce < counted) {
    return { do: 'raise', to: signed.fact.nonce + 1, evidence: `signed transaction ${signed.fact.hash}`, proof: signed }
  }
  if (request && isWitnessed) return { do: 'raise', to: counted, evidence: 'most endpoints, on request', proof }
  if (request?.stated !== undefined) {
    const { stated } = request
    if (stated > counted || counted - stated > plausibleStep) return { do: 'refuse', stated, counted }
    if (stated > next_nonce) return { do: 'raise', to: stated, evidence: 'the count that the operator states', proof }
  }
  if (head - from_block < doubtBlocks) return { do: 'wait' }
  if (isWitnessed && counted - next_nonce <= plausibleStep) {
    return { do: 'raise', to: counted, evidence: 'most endpoints', proof }
  }
  return { do: 'disable', proof }
}
