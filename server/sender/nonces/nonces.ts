import { minWitnesses, proveAbsent, proveCount, proveWrongChain, type Witnesses } from '../../chain/proofs.ts'
import { conflict, errorOf } from '../../domain/errors.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import type { TransactionRow, TransactionUpdate } from '../../domain/transaction-rows.ts'
import { BoundedMap } from '../../lib/bounded-map.ts'
import type { NetworkClient, SenderContext } from '../context.ts'
import { createChainIdentity } from './chain-restart.ts'
import { type Counts, type CountsDependencies, createCounts, needed } from './counts.ts'
import { createTracing } from './find-nonce-user.ts'
import { createGaps, type Gaps } from './gaps.ts'
import { createIrreversible, type Irreversible } from './proven-nonce-actions.ts'
import { createUnknown, type UnknownTransactions } from './unknown.ts'

const maxCompared = 10_000
/** Each costs three calls per endpoint. */
const maxReopened = 20

export interface NonceState {
  next_nonce: number
  chain_latest: number | null
  gaps: number[]
  status: 'in_step' | 'chain_ahead' | 'gap' | 'chain_restarted' | 'unreachable'
  explanation: string
  foreign: { nonce: number; hash: string | null; noticed_at: string } | null
}

type Asked = Witnesses & { chain: Pick<NetworkClient['chain'], 'latestNonce'> }

/** What `follow` found. `unknown`: a restart of the chain is suspected, and too few endpoints show the first block to exclude it. */
export type Followed = 'same_chain' | 'disabled' | 'unknown'

/** The way into this folder: keeps the nonce counter and the chain in agreement. The answer of a single node changes nothing. */
export interface Nonces extends Pick<Counts, 'believe' | 'isInDoubt'>, Pick<Irreversible, 'noteForeign'> {
  /**
   * Recognizes the chain that the nonces were used on. On another one the relayer is disabled with the reason, and on the former one
   * it is enabled again. Only `same_chain` permits to send.
   */
  follow(relayer: RelayerRow, witnesses: Witnesses, latest: number): Promise<Followed>
  /** See `UnknownTransactions.check`. */
  checkUnknown: UnknownTransactions['check']
  /** See `UnknownTransactions.noteNew`. */
  noteNew: UnknownTransactions['noteNew']
  /** Called before a nonce is assigned: when the chain is ahead, follows it on evidence. False: the relayer is disabled. */
  mayAssign(relayer: RelayerRow, witnesses: Witnesses, latest: number): Promise<boolean>
  /** Disables the relayer when all nodes are on another chain. Resolves to whether they are. */
  disableOnWrongChain(relayer: RelayerRow, error: unknown): Promise<boolean>
  /** Closes gaps: see `Gaps`. */
  mend: Gaps['close']
  /** See `Gaps`. */
  takeFill: Gaps['takeFill']
  /** Finds the transaction that used a nonce, in the background: see `createTracing`. */
  trace: ReturnType<typeof createTracing>['trace']
  /**
   * On request: asks every endpoint, accepts the count of most of at least two or the operator's own (`stated`), and closes gaps.
   * Throws DomainError (409) when the count stays uncertain, and for an implausible number.
   */
  heal(relayer: RelayerRow, witnesses: Asked, stated?: number): Promise<void>
  state(
    relayer: RelayerRow,
    witnesses: Witnesses,
    latest: number | undefined,
    pending: number | undefined,
  ): Promise<NonceState>
}

type NonceDependencies = Pick<SenderContext, 'store' | 'networkClient' | 'makeId' | 'now' | 'elapsed' | 'observer'>

export function createNonces(dependencies: NonceDependencies): Nonces {
  const { store, observer } = dependencies
  const irreversible = createIrreversible(dependencies)
  const gaps = createGaps({ ...dependencies, usedBelow: (...about) => counts.usedBelow(...about) })
  const { noteHead } = gaps
  const unknown = createUnknown({ ...dependencies, noteForeign: irreversible.noteForeign })
  const recognize: CountsDependencies['recognize'] = async (relayer, witnesses, latest) =>
    isRecognized(relayer, witnesses) || (await follow(relayer, witnesses, latest)) === 'same_chain'
  const counts = createCounts({ ...dependencies, irreversible, unknown, noteHead, recognize })
  const tracing = createTracing({ ...dependencies, irreversible, unknown, noteUsed: counts.noteUsed, noteHead })
  const identify = createChainIdentity(dependencies)
  /** By relayer: the highest count at which the chain was the former one. A lower count, or a change of the account, is looked at anew. */
  const sameAt = new BoundedMap<number, { latest: number; genesis_hash: string | null }>(maxCompared)
  /** By relayer: the endpoints on which its chain was recognized. Others may lead to another chain with the same id. */
  const recognizedOn = new BoundedMap<number, string>(maxCompared)
  const isRecognized = ({ row_id }: RelayerRow, { endpoints }: Witnesses) => recognizedOn.get(row_id) === endpoints

  async function follow(relayer: RelayerRow, witnesses: Witnesses, latest: number): Promise<Followed> {
    const { chain_id, address } = relayer
    const { next_nonce, genesis_hash } = await store.getAccount(chain_id, address)
    const isSetBack = await store.isSettledFrom(chain_id, address, latest)
    const isMoved = recognizedOn.has(relayer.row_id) && !isRecognized(relayer, witnesses)
    const isSuspicious = isSetBack || isMoved || relayer.system_disabled
    if (genesis_hash !== null && !isSuspicious) {
      // Before the first transaction is final there is nothing that another chain could lack.
      const isKnown = isRecognized(relayer, witnesses) || !(await store.isSettledFrom(chain_id, address, 0))
      if (isKnown) return 'same_chain'
    }
    const identity = await identify(relayer, witnesses, latest)
    if (identity === undefined) {
      if (!isSuspicious) return 'same_chain'
      return relayer.system_disabled ? 'disabled' : 'unknown'
    }
    if (identity.isSame) recognizedOn.set(relayer.row_id, witnesses.endpoints)
    else {
      await irreversible.disable(relayer, identity.proof, explainRestart(next_nonce, latest))
      return 'disabled'
    }
    if (relayer.system_disabled) await irreversible.enable(relayer, identity.proof)
    if (isSetBack) await reopenAbsent(relayer, witnesses, latest)
    return 'same_chain'
  }

  /**
   * Reopens transactions that are final by the word of an endpoint, when most of all endpoints count only lower nonces and have no
   * receipt of them, however long ago that was.
   */
  async function reopenAbsent(relayer: RelayerRow, witnesses: Witnesses, latest: number): Promise<void> {
    const { chain_id, address } = relayer
    const moves: TransactionUpdate[] = []
    for (const row of await store.holders(chain_id, address, latest, Number.MAX_SAFE_INTEGER, maxReopened)) {
      const { hash, block_number, nonce } = row
      if (hash === null || block_number === null || nonce === null || row.status === 'mined') continue
      if (await proveAbsent(witnesses, { from: address, nonce, hash, block_number })) moves.push(reopened(row))
    }
    if (moves.length === 0) return
    observer.nonceNoticed?.('final transactions reopened', { relayer_id: relayer.id, count: moves.length })
    await store.move(moves)
  }

  const nonces: Nonces = {
    believe: counts.believe,
    isInDoubt: counts.isInDoubt,
    noteForeign: irreversible.noteForeign,
    checkUnknown: unknown.check,
    noteNew: unknown.noteNew,
    mend: gaps.close,
    takeFill: gaps.takeFill,
    trace: tracing.trace,
    follow,

    async mayAssign(relayer, witnesses, latest) {
      const { next_nonce, genesis_hash } = await store.getAccount(relayer.chain_id, relayer.address)
      if (latest > next_nonce) {
        const believed = await counts.believe(relayer, witnesses, latest)
        // While the count is uncertain the transaction is accepted and waits unsigned.
        if (believed === undefined) return !(await isDisabled(relayer))
        return (await follow(relayer, witnesses, believed)) !== 'disabled'
      }
      const before = sameAt.get(relayer.row_id)
      const isKnown = before !== undefined && latest >= before.latest && genesis_hash === before.genesis_hash
      if (!isKnown || !isRecognized(relayer, witnesses) || relayer.system_disabled) {
        sameAt.delete(relayer.row_id)
        const followed = await follow(relayer, witnesses, latest)
        if (followed !== 'same_chain') return followed !== 'disabled'
      }
      sameAt.set(relayer.row_id, { latest, genesis_hash })
      return true
    },

    async disableOnWrongChain(relayer, error) {
      const wrong = proveWrongChain(error)
      if (!wrong) return false
      const { chain_id } = wrong.fact
      const reason = `The nodes of the network are on chain ${chain_id} and not on ${relayer.chain_id}`
      await irreversible.disable(relayer, wrong, reason)
      return true
    },

    async heal(relayer, witnesses, stated) {
      // Not from the shared poll, which asks for a count only twice per block.
      const latest = await witnesses.chain.latestNonce(relayer.address)
      const { next_nonce } = await store.getAccount(relayer.chain_id, relayer.address)
      if (stated !== undefined && stated < next_nonce) throw conflict(['next_nonce'], explainAssigned(next_nonce))
      if (stated !== undefined && stated > latest) throw conflict(['next_nonce'], explainBehind(latest, stated))
      const believed = await counts.believe(relayer, witnesses, latest, { stated })
      if (believed === undefined) throw errorOf('conflict', 'next_nonce', explainUncertain(latest, next_nonce))
      if ((await follow(relayer, witnesses, believed)) !== 'same_chain') return
      const counted = await proveCount(witnesses, relayer.address)
      const known = stated ?? (witnesses.each.length >= minWitnesses ? counted?.fact.at_least : undefined)
      if (counted && known !== undefined) {
        await tracing.renumberUnsigned(relayer, counted, Math.min(known, believed))
      }
      await gaps.close(relayer, witnesses, believed, true)
    },

    async state(relayer, witnesses, latest, pending) {
      const { next_nonce, foreign } = await store.getAccount(relayer.chain_id, relayer.address)
      const base = { next_nonce, chain_latest: latest ?? null, gaps: [] as number[], foreign }
      if (latest === undefined) {
        const explanation = 'No node of the network answers. Accepted transactions wait.'
        return { ...base, status: 'unreachable', explanation: relayer.disabled_reason ?? explanation }
      }
      // An account without unfinished transactions has no lane that would have noticed a restart of the chain.
      if (relayer.system_disabled || (await store.isSettledFrom(relayer.chain_id, relayer.address, latest))) {
        if ((await identify(relayer, witnesses, latest))?.isSame === false) {
          const explanation = relayer.disabled_reason ?? explainRestart(next_nonce, latest)
          return { ...base, status: 'chain_restarted', explanation }
        }
      }
      if (latest > next_nonce) {
        return { ...base, status: 'chain_ahead', explanation: relayer.disabled_reason ?? explainAhead(latest) }
      }
      if (pending !== undefined && pending > next_nonce) {
        return { ...base, status: 'chain_ahead', explanation: explainPooled(next_nonce, pending) }
      }
      const open = await gaps.of(relayer, latest)
      if (open.length > 0) return { ...base, gaps: open, status: 'gap', explanation: gap }
      const waiting = next_nonce - latest
      const explanation =
        waiting === 0 ? 'Store and chain agree.' : `${waiting} accepted transactions are not mined yet.`
      return { ...base, status: 'in_step', explanation: relayer.disabled_reason ?? explanation }
    },
  }
  return nonces

  async function isDisabled({ row_id }: RelayerRow): Promise<boolean> {
    return (await store.getRelayerByRowId(row_id))?.system_disabled ?? true
  }
}

const reopened = ({ row_id, revision }: TransactionRow): TransactionUpdate => ({
  row_id,
  revision,
  set: {
    status: 'submitted',
    block_number: null,
    block_hash: null,
    confirmed_at: null,
    status_reason: 'Most endpoints do not have it in a block, although it was final: it is sent again',
  },
})

const gap =
  'No transaction holds these nonces. Unsigned transactions move to lower nonces, and the counter is lowered. Gaps below a signed ' +
  'nonce are filled by zero-value transfers, up to the policy max_gap_fills_per_hour.'

const explainAhead = (latest: number): string =>
  `A node says that nonces up to ${latest - 1} are used. The counter is raised by a signed transaction that proves this, by a ` +
  `majority of at least two endpoints over 3 blocks, or when ${needed}.`

const explainPooled = (nextNonce: number, pending: number): string =>
  `A node has transactions of this account with nonces ${nextNonce} to ${pending - 1} that this service did not send: another ` +
  'program uses the key, or this database is older than another copy of it. They are not replaced; new transactions wait for them.'

const explainAssigned = (nextNonce: number): string =>
  `This service has assigned all nonces below ${nextNonce}, so next_nonce must not be below that. Nonces that no transaction ` +
  'holds are given back without it'

const explainBehind = (latest: number, stated: number): string =>
  `The nodes count ${latest} transactions of this account, fewer than next_nonce (${stated}). Check the number, or wait until the ` +
  'nodes have all blocks'

const explainUncertain = (latest: number, nextNonce: number): string =>
  `A node counts ${latest} transactions of this account, this service has assigned ${nextNonce} nonces, and no signed ` +
  `transaction proves the difference. The counter is raised when ${needed}`

const explainRestart = (nextNonce: number, latest: number): string =>
  `The chain was restarted: this account has used ${nextNonce} nonces on the former chain and ${latest} on this one. ` +
  'Sending is stopped. Restore the former chain, or on a test network POST .../nonce/heal with {"chain_restarted": true} to ' +
  'start over on this one'
