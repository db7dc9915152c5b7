import { conflict } from '../errors.ts'
import type { RelayerRow } from '../store/rows.ts'
import { createChainIdentity } from './chain-identity.ts'
import type { NetworkClient, SendingDependencies } from './dependencies.ts'
import { createEvidence, doubted, type Evidence, min_witnesses, needed } from './nonce-evidence.ts'
import { createGaps, type Gaps } from './nonce-gaps.ts'
import { createTracing } from './nonce-trace.ts'
import { askEach, reachedByMost } from './survey.ts'

const max_compared = 10_000
const restarted = 'The chain was restarted'

export interface NonceState {
  next_nonce: number
  chain_latest: number | null
  gaps: number[]
  status: 'in_step' | 'chain_ahead' | 'gap' | 'chain_restarted' | 'unreachable'
  explanation: string
}

type Surveyed = Pick<NetworkClient, 'chain' | 'each' | 'network'>

/** Keeps the nonce counter and the chain in agreement. The answer of a single node changes nothing. */
export interface Nonces {
  /** See `Evidence`. */
  believe: Evidence['believe']
  isInDoubt: Evidence['isInDoubt']
  /**
   * False when this is not the chain that the nonces were used on: then the relayer is disabled with the reason, and nothing may be
   * sent. Enables the relayer again when the cause is gone.
   */
  follow(relayer: RelayerRow, networkClient: Pick<NetworkClient, 'each'>, latest: number): Promise<boolean>
  /** Called before a nonce is assigned: when the chain is ahead, follows it on evidence. False when the relayer is disabled. */
  compare(relayer: RelayerRow, networkClient: Surveyed, latest: number): Promise<boolean>
  disableWrongChain(relayer: RelayerRow, chain_id: bigint): Promise<void>
  /** Closes gaps: see `Gaps`. */
  mend: Gaps['close']
  /** See `Gaps`. */
  takeFill: Gaps['takeFill']
  /** Finds the transaction that used a nonce, in the background: see `createTracing`. */
  trace: ReturnType<typeof createTracing>['trace']
  /**
   * On request: asks every endpoint, accepts the count of a majority of at least two or the operator's own (`stated`), and closes
   * gaps. Throws ApiError (409) when the count stays uncertain, and for an implausible number.
   */
  heal(relayer: RelayerRow, networkClient: Surveyed, stated?: number): Promise<void>
  state(relayer: RelayerRow, each: NetworkClient['each'], latest: number | undefined): Promise<NonceState>
}

type NonceDependencies = Pick<SendingDependencies, 'store' | 'makeId' | 'now' | 'elapsed' | 'observer'>

export function createNonces(dependencies: NonceDependencies): Nonces {
  const { store } = dependencies
  const gaps = createGaps({ ...dependencies, usedBelow: (...about) => usedBelow(...about) })
  const { noteHead } = gaps
  const { believe, findRival, isInDoubt, usedBelow } = createEvidence({ ...dependencies, setDisabled, noteHead })
  const tracing = createTracing({ ...dependencies, findRival, noteHead })
  const identity = createChainIdentity(dependencies)
  const compared = new Map<number, { latest: number; isSame: Promise<boolean> }>()

  const nonces: Nonces = {
    believe,
    mend: gaps.close,
    takeFill: gaps.takeFill,
    trace: tracing.trace,
    isInDoubt,

    async follow(relayer, { each }, latest) {
      const { chain_id, address } = relayer
      const { next_nonce, genesis_hash } = await store.getAccount(chain_id, address)
      const isSuspicious = (await store.isSettledFrom(chain_id, address, latest)) || relayer.system_disabled
      if (genesis_hash === null || isSuspicious) {
        const isSame = await identity.isSame(relayer, each, latest)
        // Nothing is sent while a restart of the chain is suspected and cannot be excluded.
        if (isSame === undefined && isSuspicious) return false
        if (isSame === false) {
          await setDisabled(relayer, explainRestart(next_nonce, latest))
          return false
        }
      }
      if (relayer.system_disabled) await setDisabled(relayer, null)
      return true
    },

    async compare(relayer, networkClient, latest) {
      const { next_nonce } = await store.getAccount(relayer.chain_id, relayer.address)
      if (latest > next_nonce) {
        const believed = await believe(relayer, networkClient, latest)
        // While the count is uncertain the transaction is accepted and waits unsigned.
        if (believed === undefined) return !relayer.system_disabled
        return nonces.follow(relayer, networkClient, believed)
      }
      const before = compared.get(relayer.row_id)
      if (before && latest >= before.latest && !relayer.system_disabled) {
        before.latest = latest
        return before.isSame
      }
      if (compared.size >= max_compared) compared.clear()
      const isSame = nonces.follow(relayer, networkClient, latest)
      compared.set(relayer.row_id, { latest, isSame })
      isSame.catch(() => compared.delete(relayer.row_id))
      return isSame
    },

    disableWrongChain: (relayer, chain_id) =>
      setDisabled(relayer, `The nodes of the network are on chain ${chain_id} and not on ${relayer.chain_id}`),

    async heal(relayer, networkClient, stated) {
      // Not from the shared poll, which asks for a count only twice per block.
      const latest = await networkClient.chain.latestNonce(relayer.address)
      const { next_nonce } = await store.getAccount(relayer.chain_id, relayer.address)
      if (stated !== undefined && stated < next_nonce) throw conflict('/body/next_nonce', explainAssigned(next_nonce))
      if (stated !== undefined && stated > latest) throw conflict('/body/next_nonce', explainBehind(latest, stated))
      const believed = await believe(relayer, networkClient, latest, { stated })
      if (believed === undefined) throw conflict('next_nonce', explainUncertain(latest, next_nonce))
      if (!(await nonces.follow(relayer, networkClient, believed))) return
      const witnessed = stated ?? (await countOfMost(networkClient.each, relayer.address))
      if (witnessed !== undefined) await tracing.renumberUnsigned(relayer, Math.min(witnessed, believed))
      await gaps.close(relayer, networkClient, believed, true)
    },

    async state(relayer, each, latest) {
      const { next_nonce } = await store.getAccount(relayer.chain_id, relayer.address)
      const base = { next_nonce, chain_latest: latest ?? null, gaps: [] as number[] }
      if (relayer.disabled_reason?.startsWith(restarted)) {
        return { ...base, status: 'chain_restarted', explanation: relayer.disabled_reason }
      }
      if (relayer.disabled_reason?.startsWith(doubted)) {
        return { ...base, status: 'chain_ahead', explanation: relayer.disabled_reason }
      }
      if (latest === undefined) {
        const explanation = 'No node of the network answers. Accepted transactions wait.'
        return { ...base, status: 'unreachable', explanation }
      }
      // An account without unfinished transactions has no lane that would have noticed a restart of the chain.
      if (await store.isSettledFrom(relayer.chain_id, relayer.address, latest)) {
        if ((await identity.isSame(relayer, each, latest)) === false) {
          return { ...base, status: 'chain_restarted', explanation: explainRestart(next_nonce, latest) }
        }
      }
      if (latest > next_nonce) return { ...base, status: 'chain_ahead', explanation: explainAhead(latest) }
      const open = await gaps.of(relayer, latest)
      if (open.length > 0) return { ...base, gaps: open, status: 'gap', explanation: gap }
      const waiting = next_nonce - latest
      const explanation =
        waiting === 0 ? 'Store and chain agree.' : `${waiting} accepted transactions are not mined yet.`
      return { ...base, status: 'in_step', explanation }
    },
  }
  return nonces

  async function setDisabled(relayer: RelayerRow, disabled_reason: string | null): Promise<void> {
    if (relayer.disabled_reason === disabled_reason) return
    const system_disabled = disabled_reason !== null
    await store.updateRelayer(relayer.id, (current) => ({ ...current, system_disabled, disabled_reason }))
  }
}

/** The account's count by a majority of at least two endpoints; undefined when there is none. */
async function countOfMost(each: NetworkClient['each'], address: string): Promise<number | undefined> {
  if (each.length < min_witnesses) return undefined
  return reachedByMost(await askEach(each, (node) => node.latestNonce(address)))
}

const gap =
  'No transaction holds these nonces. Unsigned transactions move to lower nonces, and the counter is lowered. Gaps below a signed ' +
  'nonce are filled by zero-value transfers, up to the policy max_gap_fills_per_hour.'

const explainAhead = (latest: number): string =>
  `A node says that nonces up to ${latest - 1} are used. The counter is raised by a signed transaction that proves this, by a ` +
  `majority of at least two endpoints over 3 blocks, or when ${needed}.`

const explainAssigned = (next_nonce: number): string =>
  `This service has assigned all nonces below ${next_nonce}, so next_nonce must not be below that. Nonces that no transaction ` +
  'holds are given back without it'

const explainBehind = (latest: number, stated: number): string =>
  `The nodes count ${latest} transactions of this account, fewer than next_nonce (${stated}). Check the number, or wait until the ` +
  'nodes have all blocks'

const explainUncertain = (latest: number, next_nonce: number): string =>
  `A node counts ${latest} transactions of this account, this service has assigned ${next_nonce} nonces, and no signed ` +
  `transaction proves the difference. The counter is raised when ${needed}`

const explainRestart = (next_nonce: number, latest: number): string =>
  `${restarted}: this account has used ${next_nonce} nonces on the former chain and ${latest} on this one. ` +
  'Sending is stopped. Restore the former chain, or on a test network POST .../nonce/heal with {"chain_restarted": true} to ' +
  'start over on this one'
