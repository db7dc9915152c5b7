import { within } from '../../chain/chain.ts'
import type { SignedTransaction } from '../../chain/nonce-search.ts'
import {
  type CountFact,
  minWitnesses,
  proveAbsent,
  proveAnyMined,
  proveCount,
  proveGenesis,
  proveSigned,
  proveWrongChain,
  type Witnesses,
} from '../../chain/proofs.ts'
import { conflict } from '../../domain/errors.ts'
import { judgeCount } from '../../domain/nonce-verdict.ts'
import { reopened } from '../../domain/outcome.ts'
import type { Proof } from '../../domain/proof.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import type { TransactionUpdate } from '../../domain/transaction-rows.ts'
import { BoundedMap } from '../../lib/cache.ts'
import type { NonceContext, SenderContext } from '../context.ts'
import { type ExternalTransactions, noteForeign } from './external.ts'

interface Raise {
  to: number
  proof: Proof<CountFact> | Proof<SignedTransaction>
  evidence: string
  /** No reorganization removes what raised it. */
  isDeep: boolean
}

/** A step that cannot be taken back takes the proof that it relies on. */
async function raiseCounter(
  { store, observer }: NonceContext,
  { id, chain_id, address }: RelayerRow,
  { to, evidence, isDeep }: Raise,
): Promise<void> {
  const { next_nonce } = await store.getAccount(chain_id, address)
  observer.nonceNoticed?.('nonce counter raised', { relayer_id: id, from: next_nonce, to, evidence })
  await store.raiseNonce({ chain_id, address }, to, isDeep)
}

/** `reason`: why the relayer is disabled; null: it is enabled. */
async function setDisabled(
  { store }: NonceContext,
  relayer: RelayerRow,
  _proof: Proof<unknown>,
  reason: string | null,
): Promise<void> {
  if (relayer.disabled_reason === reason) return
  await store.updateRelayer(relayer.id, (current) => ({
    ...current,
    system_disabled: reason !== null,
    disabled_reason: reason,
  }))
}

/** A longer search continues in the background, and the next tick uses its result. */
const patienceMs = 2_000
const firstSearchMs = 2_000
const maxSearchMs = 60_000
/** So long the only node's word against what it has shown before is not taken. */
const soleWordMs = 3_600_000
const maxRemembered = 10_000
const logAgainMs = 60_000
/** After this long, nodes that were set back are believed. */
const maxBehindMs = 24 * 3_600_000
/** How many nonces below and above the account's count are looked up to recognize a chain. */
const maxLookedUp = 20
/** Each costs three calls per endpoint. */
const maxReopened = 20

/** Undefined: not proven, because too few endpoints show the first block. */
type Identity = { isSame: boolean; proof: Proof<unknown> } | undefined

/**
 * Whether the endpoints are on the chain that the account's nonces were used on. The first block decides, as most endpoints show it.
 * When it differs from the stored one, our own transactions decide: a chain that has one of them in a block is not a new one. The stored
 * hash is false then, if more than one endpoint says so.
 */
export async function identifyChain(
  { store }: Pick<SenderContext, 'store'>,
  relayer: RelayerRow,
  witnesses: Witnesses,
  latest: number,
): Promise<Identity> {
  const { chain_id, address } = relayer
  const { genesis_hash } = await store.getAccount(chain_id, address)
  const genesis = await proveGenesis(witnesses)
  if (genesis === undefined) return undefined
  if (genesis.fact.genesis_hash === genesis_hash) return { isSame: true, proof: genesis }
  const isFirst = genesis_hash === null || !(await store.hasMinedFrom(chain_id, address, 0))
  const ours = isFirst ? undefined : await proveOurs(store, relayer, witnesses, latest)
  if (!isFirst && !ours) return { isSame: false, proof: genesis }
  // The only node may have answered wrongly for a moment.
  if (isFirst || witnesses.each.length >= minWitnesses) {
    await store.setGenesis(chain_id, address, genesis.fact.genesis_hash)
  }
  return { isSame: true, proof: ours ?? genesis }
}

/** Rows around the account's count on chain: just below it if the chain is the same, and from it on if the chain is shorter. */
async function proveOurs(
  store: SenderContext['store'],
  { chain_id, address }: RelayerRow,
  witnesses: Witnesses,
  latest: number,
) {
  const from = Math.max(0, latest - maxLookedUp)
  const rows = await store.holders({ chain_id, address }, { from, to: latest + maxLookedUp }, 2 * maxLookedUp)
  const hashes = rows.flatMap(({ hash, block_hash }) => (hash !== null && block_hash !== null ? [hash] : []))
  return hashes.length === 0 ? undefined : proveAnyMined(witnesses, hashes)
}

/** What `follow` found. `unknown`: a restart of the chain is suspected, and too few endpoints show the first block to exclude it. */
type Followed = 'same_chain' | 'disabled' | 'unknown'

/** Recognizes the chain that the nonces of relayers were used on. */
export class ChainIdentity {
  readonly #context: NonceContext
  /** By relayer: the endpoints on which its chain was recognized. Others may lead to another chain with the same id. */
  readonly #recognizedOn = new BoundedMap<number, string>(maxRemembered)

  constructor(context: NonceContext) {
    this.#context = context
  }

  isRecognized({ row_id }: RelayerRow, { endpoints }: Witnesses): boolean {
    return this.#recognizedOn.get(row_id) === endpoints
  }

  /** Whether the endpoints are on the chain that the nonces were used on; false also while that is not known. */
  async recognize(relayer: RelayerRow, witnesses: Witnesses, latest: number): Promise<boolean> {
    return this.isRecognized(relayer, witnesses) || (await this.follow(relayer, witnesses, latest)) === 'same_chain'
  }

  /**
   * On another chain the relayer is disabled with the reason, and on the former one it is enabled again. Only `same_chain` permits to
   * send.
   */
  async follow(relayer: RelayerRow, witnesses: Witnesses, latest: number): Promise<Followed> {
    const { store } = this.#context
    const { chain_id, address } = relayer
    const { next_nonce, genesis_hash } = await store.getAccount(chain_id, address)
    const isSetBack = await store.hasMinedFrom(chain_id, address, latest)
    const isRecognized = this.isRecognized(relayer, witnesses)
    const isMoved = !isRecognized && this.#recognizedOn.has(relayer.row_id)
    const isSuspicious = isSetBack || isMoved || relayer.system_disabled
    if (genesis_hash !== null && !isSuspicious) {
      // Before the first transaction is final there is nothing that another chain could lack.
      if (isRecognized || !(await store.hasMinedFrom(chain_id, address, 0))) return 'same_chain'
    }
    const identity = await identifyChain(this.#context, relayer, witnesses, latest)
    if (identity === undefined) {
      if (!isSuspicious) return 'same_chain'
      return relayer.system_disabled ? 'disabled' : 'unknown'
    }
    if (!identity.isSame) {
      await setDisabled(this.#context, relayer, identity.proof, explainRestart(next_nonce, latest))
      return 'disabled'
    }
    this.#recognizedOn.set(relayer.row_id, witnesses.endpoints)
    if (relayer.system_disabled) await setDisabled(this.#context, relayer, identity.proof, null)
    if (isSetBack) await this.#reopenAbsent(relayer, witnesses, latest)
    return 'same_chain'
  }

  /** Disables the relayer when all nodes are on another chain. Resolves to whether they are. */
  async disableOnWrongChain(relayer: RelayerRow, error: unknown): Promise<boolean> {
    const wrong = proveWrongChain(error)
    if (!wrong) return false
    const reason = `The nodes of the network are on chain ${wrong.fact.chain_id} and not on ${relayer.chain_id}`
    await setDisabled(this.#context, relayer, wrong, reason)
    return true
  }

  /**
   * Reopens transactions that are final by the word of an endpoint, when most of all endpoints count only lower nonces and have no
   * receipt of them, however long ago that was.
   */
  async #reopenAbsent(relayer: RelayerRow, witnesses: Witnesses, latest: number): Promise<void> {
    const { store, observer } = this.#context
    const { id, chain_id, address } = relayer
    const updates: TransactionUpdate[] = []
    for (const row of await store.holders(
      { chain_id, address },
      { from: latest, to: Number.MAX_SAFE_INTEGER },
      maxReopened,
    )) {
      const { hash, block_number, nonce } = row
      if (hash === null || block_number === null || nonce === null || row.status === 'mined') continue
      const proof = await proveAbsent(witnesses, { from: address, nonce, hash, block_number })
      if (proof) updates.push(reopened(row, proof, whyReopened))
    }
    if (updates.length === 0) return
    observer.nonceNoticed?.('final transactions reopened', { relayer_id: id, count: updates.length })
    await store.move(updates)
  }
}

const whyReopened = 'Most endpoints do not have it in a block, although it was final: it is sent again'

export const explainRestart = (nextNonce: number, latest: number): string =>
  `The chain was restarted: this account has used ${nextNonce} nonces on the former chain and ${latest} on this one. ` +
  'Sending is stopped. Restore the former chain, or on a test network POST .../nonce/reconcile with {"chain_restarted": true} to ' +
  'start over on this one'

/** An operator asks to follow the chain. `stated`: the account's transaction count, as the operator knows it. */
interface HealRequest {
  stated: number | undefined
}

/** A count above the counter without evidence, and the search for the transaction that used its last nonce. */
interface Doubt {
  from_block: number
  search_at: number
  search_ms: number
  search: Promise<void> | undefined
  signed: Proof<SignedTransaction> | undefined
}

/** The transaction counts of accounts on chain, as far as they may be used. The answer of a single node changes nothing. */
export class Counts {
  readonly #context: NonceContext
  readonly #identity: ChainIdentity
  readonly #external: ExternalTransactions
  readonly #doubts = new BoundedMap<number, Doubt>(maxRemembered)
  /** Concurrent requests for one relayer share a survey. */
  readonly #asking = new Map<number, Promise<number | undefined>>()
  /** By relayer: the signed transaction of somebody else with the highest nonce. */
  readonly #usedBy = new BoundedMap<number, { hash: string; nonce: number }>(maxRemembered)
  /** By chain: the highest block that a majority of the endpoints had, and when. */
  readonly #heads = new BoundedMap<number, { head: number; at: number }>(maxRemembered)
  /** By relayer: when a refused count was last logged. */
  readonly #logged = new BoundedMap<number, number>(maxRemembered)

  constructor(context: NonceContext, identity: ChainIdentity, external: ExternalTransactions) {
    this.#context = context
    this.#identity = identity
    this.#external = external
  }

  /**
   * The account's transaction count on chain that may be used, when a node reports more than the nonce counter (`judgeCount`).
   * Undefined: the count is uncertain, and nothing may be signed.
   */
  async believe(
    relayer: RelayerRow,
    witnesses: Witnesses,
    latest: number,
    request?: HealRequest,
  ): Promise<number | undefined> {
    const { next_nonce } = await this.#context.store.getAccount(relayer.chain_id, relayer.address)
    if (latest <= next_nonce) {
      this.#doubts.delete(relayer.row_id)
      return latest
    }
    // On another chain the account may have any count, with signed transactions that prove it.
    if (!(await this.#identity.recognize(relayer, witnesses, latest))) return undefined
    if (request) return this.#survey(relayer, witnesses, latest, request)
    const asked = this.#asking.get(relayer.row_id) ?? this.#survey(relayer, witnesses, latest)
    this.#asking.set(relayer.row_id, asked)
    return asked.finally(() => this.#asking.delete(relayer.row_id))
  }

  /** Whether a node reports a count without evidence. */
  isInDoubt(relayerRowId: number): boolean {
    return this.#doubts.has(relayerRowId)
  }

  /** Remembers it for `usedBelow`. */
  noteUsed({ row_id }: RelayerRow, { fact: { hash, nonce } }: Proof<SignedTransaction>): void {
    if (nonce >= (this.#usedBy.get(row_id)?.nonce ?? 0)) this.#usedBy.set(row_id, { hash, nonce })
  }

  /**
   * The nonces below this one are used by a signed transaction of somebody else, as long as most endpoints have its receipt: a lower count
   * alone does not free them. Unless an operator asks (`isRequested`), nodes whose height (`head`) is below its block lag, and the only
   * node may be wrong for a while. 0: no such transaction.
   */
  async usedBelow(
    { row_id, chain_id, address }: RelayerRow,
    witnesses: Witnesses,
    { head, isRequested }: { head: number; isRequested: boolean },
  ): Promise<number> {
    const { store, now } = this.#context
    // After a start the database has the last one that was noticed.
    const { foreign } = await store.getAccount(chain_id, address)
    const signed = this.#usedBy.get(row_id) ?? foreign
    if (!signed?.hash) return 0
    const passedMs = foreign === null ? Infinity : now() - Date.parse(foreign.noticed_at)
    const isDoubted =
      (witnesses.each.length < minWitnesses && passedMs < soleWordMs) ||
      (head < (foreign?.block ?? 0) && passedMs < maxBehindMs)
    return (isDoubted && !isRequested) || (await proveAnyMined(witnesses, [signed.hash])) ? signed.nonce + 1 : 0
  }

  /** Records the height of a chain by a majority of its endpoints: gaps are not closed while they are behind it. */
  noteHead(chainId: number, head: number): void {
    const { elapsed } = this.#context
    const known = this.#heads.get(chainId)
    if (known && known.head > head && elapsed() - known.at < maxBehindMs) return
    this.#heads.set(chainId, { head, at: elapsed() })
  }

  /** Nodes that lag count too few transactions. A chain that stays lower was set back. */
  isBehind(chainId: number, head: number): boolean {
    this.noteHead(chainId, head)
    return head < (this.#heads.get(chainId)?.head ?? 0)
  }

  async #survey(
    relayer: RelayerRow,
    witnesses: Witnesses,
    latest: number,
    request?: HealRequest,
  ): Promise<number | undefined> {
    const { next_nonce } = await this.#context.store.getAccount(relayer.chain_id, relayer.address)
    const counted = await proveCount(witnesses, relayer.address)
    if (counted) this.noteHead(relayer.chain_id, counted.fact.head)
    const isAbove = counted !== undefined && counted.fact.at_least > next_nonce
    const doubt = isAbove ? this.#doubtOf(relayer, counted.fact.head) : undefined
    if (doubt && isAbove) await this.#searched(doubt, witnesses, relayer, counted.fact.at_least - 1)
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
        this.#doubts.delete(relayer.row_id)
        this.#noteFalse(relayer, latest, next_nonce)
        return verdict.latest
      case 'raise':
        await this.#raise(relayer, witnesses, verdict, { signed: doubt?.signed, head: counted?.fact.head ?? 0 })
        return verdict.to
      case 'disable': {
        const reason = explainDoubt(verdict.proof.fact.at_least, next_nonce)
        await setDisabled(this.#context, relayer, verdict.proof, reason)
        return undefined
      }
      case 'refuse':
        throw implausible(verdict.stated, verdict.counted)
      default:
        return undefined
    }
  }

  async #raise(
    relayer: RelayerRow,
    witnesses: Witnesses,
    { to, proof, evidence }: Omit<Raise, 'isDeep'>,
    { signed, head }: { signed: Proof<SignedTransaction> | undefined; head: number },
  ): Promise<void> {
    // A transaction that a reorganization may still remove is no permanent proof.
    const isShown = signed !== undefined && proof === signed
    const isDeep = isShown && head - signed.fact.block_number + 1 >= witnesses.network.required_confirmations
    if (isShown) this.noteUsed(relayer, signed)
    await this.#external.beforeRaise(relayer, witnesses, { count: to, isShown })
    await raiseCounter(this.#context, relayer, { to, proof, evidence, isDeep })
    const last =
      signed?.fact.nonce === to - 1 ? { hash: signed.fact.hash, block: signed.fact.block_number } : { hash: null }
    await noteForeign(this.#context, relayer, { nonce: to - 1, ...last })
    this.#doubts.delete(relayer.row_id)
  }

  #noteFalse({ row_id, id }: RelayerRow, counted: number, nextNonce: number): void {
    const { elapsed, observer } = this.#context
    if ((this.#logged.get(row_id) ?? Number.NEGATIVE_INFINITY) > elapsed() - logAgainMs) return
    this.#logged.set(row_id, elapsed())
    observer.nonceNoticed?.('transaction count refused', { relayer_id: id, counted, next_nonce: nextNonce })
  }

  #doubtOf({ row_id }: RelayerRow, head: number): Doubt {
    const timing = { search_at: 0, search_ms: firstSearchMs }
    return this.#doubts.of(row_id, () => ({ from_block: head, ...timing, search: undefined, signed: undefined }))
  }

  /** Starts a search when none is running and one is due, and waits for it for a limited time. */
  async #searched(doubt: Doubt, witnesses: Witnesses, relayer: RelayerRow, nonce: number): Promise<void> {
    const { elapsed } = this.#context
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
}

const explainDoubt = (counted: number, nextNonce: number): string =>
  `The nodes count ${counted} transactions of this account, but this service has assigned ${nextNonce} nonces, and no signed ` +
  `transaction proves the difference. Sending is stopped until the counts agree, or until ${needed}`

/** The action that resolves an uncertain count. */
export const needed =
  'POST .../nonce/reconcile finds a majority of at least two endpoints, or is given the count from a trusted source, for example a ' +
  'block explorer: {"next_nonce": 5000}'

const implausible = (stated: number, counted: number) =>
  conflict(
    'invalid_state',
    ['next_nonce'],
    `The nodes count ${counted} transactions of this account: next_nonce must not be above that, and at most 64 below it, but it ` +
      `is ${stated}. Check the number, and the RPC URLs of the network`,
  )
