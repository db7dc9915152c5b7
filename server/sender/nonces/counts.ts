import { within } from '../../chain/ask-each.ts'
import type { SignedTransaction } from '../../chain/nonce-search.ts'
import { minWitnesses, proveAnyMined, proveCount, proveSigned, type Witnesses } from '../../chain/proofs.ts'
import { conflict } from '../../domain/errors.ts'
import { judgeCount } from '../../domain/nonce-verdict.ts'
import type { Proof } from '../../domain/proof.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { BoundedMap } from '../../lib/bounded-map.ts'
import type { SenderContext } from '../context.ts'
import type { Irreversible } from './proven-nonce-actions.ts'
import type { UnknownTransactions } from './unknown.ts'

/** A longer search continues in the background, and the next round uses its result. */
const patienceMs = 2_000
const firstSearchMs = 2_000
const maxSearchMs = 60_000
const maxRemembered = 10_000
const logAgainMs = 60_000

export interface Counts {
  /**
   * The account's transaction count on chain that may be used, when a node reports more than the nonce counter (`judgeCount`).
   * Undefined: the count is uncertain, and nothing may be signed.
   */
  believe(relayer: RelayerRow, witnesses: Witnesses, latest: number, request?: HealRequest): Promise<number | undefined>
  /** Whether a node reports a count without evidence. */
  isInDoubt(relayerRowId: number): boolean
  /**
   * The nonces below this one are used by a signed transaction of somebody else, as long as most endpoints have its receipt: a lower count
   * alone does not free them. 0: no such transaction.
   */
  usedBelow(relayer: RelayerRow, witnesses: Witnesses): Promise<number>
  /** Remembers it for `usedBelow`. */
  noteUsed(relayer: RelayerRow, proof: Proof<SignedTransaction>): void
}

/** An operator asks to follow the chain. `stated`: the account's transaction count, as the operator knows it. */
export interface HealRequest {
  stated: number | undefined
}

export interface CountsDependencies extends Pick<SenderContext, 'store' | 'elapsed' | 'observer'> {
  irreversible: Irreversible
  unknown: Pick<UnknownTransactions, 'beforeRaise'>
  /** See `Gaps`. */
  noteHead(chainId: number, head: number): void
  /** Whether the endpoints are on the chain that the nonces were used on; false also while that is not known. */
  recognize(relayer: RelayerRow, witnesses: Witnesses, latest: number): Promise<boolean>
}

/** A count above the counter without evidence, and the search for the transaction that used its last nonce. */
interface Doubt {
  from_block: number
  search_at: number
  search_ms: number
  search: Promise<void> | undefined
  signed: Proof<SignedTransaction> | undefined
}

export function createCounts({
  store,
  elapsed,
  observer,
  irreversible,
  unknown,
  noteHead,
  recognize,
}: CountsDependencies): Counts {
  const doubts = new BoundedMap<number, Doubt>(maxRemembered)
  /** Concurrent requests for one relayer share a survey. */
  const asking = new Map<number, Promise<number | undefined>>()
  /** By relayer: the signed transaction of somebody else with the highest nonce. */
  const usedBy = new BoundedMap<number, { hash: string; nonce: number }>(maxRemembered)
  /** By relayer: when a refused count was last logged. */
  const logged = new BoundedMap<number, number>(maxRemembered)

  async function believe(relayer: RelayerRow, witnesses: Witnesses, latest: number, request?: HealRequest) {
    const { next_nonce } = await store.getAccount(relayer.chain_id, relayer.address)
    if (latest <= next_nonce) {
      doubts.delete(relayer.row_id)
      return latest
    }
    // On another chain the account may have any count, with signed transactions that prove it.
    if (!(await recognize(relayer, witnesses, latest))) return undefined
    if (request) return survey(relayer, witnesses, latest, request)
    const asked = asking.get(relayer.row_id) ?? survey(relayer, witnesses, latest)
    asking.set(relayer.row_id, asked)
    return asked.finally(() => asking.delete(relayer.row_id))
  }

  async function survey(relayer: RelayerRow, witnesses: Witnesses, latest: number, request?: HealRequest) {
    const { next_nonce } = await store.getAccount(relayer.chain_id, relayer.address)
    const counted = await proveCount(witnesses, relayer.address)
    if (counted) noteHead(relayer.chain_id, counted.fact.head)
    const isAbove = counted !== undefined && counted.fact.at_least > next_nonce
    const doubt = isAbove ? doubtOf(relayer, counted.fact.head) : undefined
    if (doubt && isAbove) await searched(doubt, witnesses, relayer, counted.fact.at_least - 1)
    const verdict = judgeCount({
      next_nonce,
      counted,
      signed: doubt?.signed,
      isWitnessed: witnesses.each.length >= minWitnesses,
      from_block: doubt?.from_block ?? 0,
      request,
    })
    switch (verdict.do) {
      case 'use':
        doubts.delete(relayer.row_id)
        noteFalse(relayer, latest, next_nonce)
        return verdict.latest
      case 'raise':
        await raise(relayer, witnesses, verdict.to, verdict.proof, verdict.evidence, doubt, counted?.fact.head ?? 0)
        return verdict.to
      case 'disable':
        await irreversible.disable(relayer, verdict.proof, explainDoubt(verdict.proof.fact.at_least, next_nonce))
        return undefined
      case 'refuse':
        throw implausible(verdict.stated, verdict.counted)
      default:
        return undefined
    }
  }

  async function raise(
    relayer: RelayerRow,
    witnesses: Witnesses,
    to: number,
    proof: Parameters<Irreversible['raise']>[2],
    evidence: string,
    doubt: Doubt | undefined,
    head: number,
  ): Promise<void> {
    const signed = doubt?.signed?.fact
    // A transaction that a reorganization may still remove is no permanent proof.
    const isShown = signed !== undefined && proof === doubt?.signed
    const isDeep = isShown && head - signed.block_number + 1 >= witnesses.network.required_confirmations
    if (isShown) noteUsed(relayer, signed)
    await unknown.beforeRaise(relayer, witnesses, { count: to, isShown })
    await irreversible.raise(relayer, to, proof, evidence, isDeep)
    await irreversible.noteForeign(relayer, { nonce: to - 1, hash: signed?.nonce === to - 1 ? signed.hash : null })
    doubts.delete(relayer.row_id)
  }

  function noteFalse({ row_id, id }: RelayerRow, counted: number, nextNonce: number): void {
    if ((logged.get(row_id) ?? Number.NEGATIVE_INFINITY) > elapsed() - logAgainMs) return
    logged.set(row_id, elapsed())
    observer.nonceNoticed?.('transaction count refused', { relayer_id: id, counted, next_nonce: nextNonce })
  }

  function doubtOf({ row_id }: RelayerRow, head: number): Doubt {
    const known = doubts.get(row_id)
    if (known) return known
    const doubt: Doubt = {
      from_block: head,
      search_at: 0,
      search_ms: firstSearchMs,
      search: undefined,
      signed: undefined,
    }
    doubts.set(row_id, doubt)
    return doubt
  }

  /** Starts a search when none is running and one is due, and waits for it for a limited time. */
  async function searched(doubt: Doubt, witnesses: Witnesses, relayer: RelayerRow, nonce: number): Promise<void> {
    if (!doubt.search && elapsed() >= doubt.search_at) {
      doubt.search = proveSigned(witnesses, relayer, nonce)
        .then((signed) => {
          if (signed) doubt.signed = signed
        })
        .finally(() => {
          doubt.search = undefined
          doubt.search_at = elapsed() + doubt.search_ms
          doubt.search_ms = Math.min(doubt.search_ms * 2, maxSearchMs)
        })
    }
    if (doubt.search) await within(patienceMs, doubt.search)
  }

  function noteUsed({ row_id }: RelayerRow, { hash, nonce }: SignedTransaction): void {
    if (nonce >= (usedBy.get(row_id)?.nonce ?? 0)) usedBy.set(row_id, { hash, nonce })
  }

  async function usedBelow({ row_id }: RelayerRow, witnesses: Witnesses): Promise<number> {
    const signed = usedBy.get(row_id)
    if (!signed) return 0
    return (await proveAnyMined(witnesses, [signed.hash])) ? signed.nonce + 1 : 0
  }

  return {
    believe,
    isInDoubt: (relayerRowId) => doubts.has(relayerRowId),
    usedBelow,
    noteUsed: (relayer, { fact }) => noteUsed(relayer, fact),
  }
}

const explainDoubt = (counted: number, nextNonce: number): string =>
  `The nodes count ${counted} transactions of this account, but this service has assigned ${nextNonce} nonces, and no signed ` +
  `transaction proves the difference. Sending is stopped until the counts agree, or until ${needed}`

/** The action that resolves an uncertain count. */
export const needed =
  'POST .../nonce/heal finds a majority of at least two endpoints, or is given the count from a trusted source, for example a ' +
  'block explorer: {"next_nonce": 5000}'

const implausible = (stated: number, counted: number) =>
  conflict(
    ['next_nonce'],
    `The nodes count ${counted} transactions of this account: next_nonce must not be above that, and at most 64 below it, but it ` +
      `is ${stated}. Check the number, and the RPC URLs of the network`,
  )
