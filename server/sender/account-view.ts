import { askEach } from '../chain/ask-each.ts'
import type { Chain, Head } from '../chain/chain.ts'
import { minWitnesses } from '../chain/proofs.ts'
import { BoundedMap } from '../lib/bounded-map.ts'
import { given, majorityOf, reachedByMost } from '../lib/majority.ts'
import type { ChainState } from './chain-state.ts'
import type { SenderDependencies, Tick } from './lane.ts'

/** For how long after a false answer the endpoints are surveyed at every new head. */
const disputeMs = 30_000
/** A survey is repeated at the same head after this time, because endpoints may have lagged. */
const surveyAgainMs = 2_000
/** The lead in blocks that an endpoint may have over most others before its answer counts as false. */
const plausibleLead = 64
const maxRemembered = 10_000

/** The newest block, and the account's transaction count. */
export interface View {
  head: Head
  latest: number
  /** Most endpoints report it. */
  isWitnessed: boolean
}

export interface AccountViews {
  /**
   * One node's answer is used while nothing contradicts it. It is contradicted when it calls the nonce of an unsigned transaction
   * used, when it keeps falling behind an earlier answer, and when a survey has shown a false answer recently. Then most endpoints
   * decide. When no majority answers, the node's answer is used: it signs nothing and only delays.
   */
  of(lane: Tick, seen: Pick<View, 'head' | 'latest'>): Promise<View>
  /**
   * The account's count including the pool. A count above the lowest unsigned nonce is one node's word: with several endpoints, most
   * of them must confirm it, or one must show the transaction's signed bytes.
   */
  pooledOf(lane: Tick): Promise<number>
  /** A survey has shown that a node reports a false transaction count. */
  dispute(relayerRowId: number): void
}

interface Dispute {
  until: number
  /** The last survey, and the head and the time at which it was made. */
  view: Omit<View, 'isWitnessed'> | undefined
  at_head: string
  at: number
}

type Answer = Awaited<ReturnType<typeof answerOf>>

export function createAccountViews({ store, elapsed }: Pick<SenderDependencies, 'store' | 'elapsed'>): AccountViews {
  const disputes = new BoundedMap<number, Dispute>(maxRemembered)

  const disputeOf = (relayerRowId: number): Dispute =>
    disputes.of(relayerRowId, () => ({ until: 0, view: undefined, at_head: '', at: Number.NEGATIVE_INFINITY }))

  async function isContradicted({ held, seen: before }: Tick, { head, latest }: Pick<View, 'head' | 'latest'>) {
    const { row_id } = held.relayer
    if ((disputes.get(row_id)?.until ?? 0) > elapsed()) return true
    if (isRepeatedlyBehind(before, head, latest)) return true
    // A nonce is used by signed bytes, and this service has not signed this one.
    return (await store.pending(row_id, 0, latest, 1)).length > 0
  }

  return {
    async of(lane, seen) {
      const { held, networkClient } = lane
      const { row_id, address } = held.relayer
      if (networkClient.each.length < minWitnesses || !(await isContradicted(lane, seen))) {
        return { ...seen, isWitnessed: false }
      }
      const dispute = disputeOf(row_id)
      if (dispute.at_head !== seen.head.hash || elapsed() - dispute.at >= surveyAgainMs) {
        const answers = await askEach(networkClient.each, (node) => answerOf(node, address))
        const view = viewOfMost(answers)
        Object.assign(dispute, { view, at_head: seen.head.hash, at: elapsed() })
        if (view && given(answers).some((answer) => isFalse(answer, view))) dispute.until = elapsed() + disputeMs
      }
      return dispute.view ? { ...dispute.view, isWitnessed: true } : { ...seen, isWitnessed: false }
    },
    async pooledOf({ held, networkClient }) {
      const { address, row_id } = held.relayer
      const pooled = await networkClient.chain.pendingNonce(address)
      const [first] = await store.pending(row_id, 0, pooled, 1)
      if (!first || networkClient.each.length < minWitnesses) return pooled
      const answers = await askEach(networkClient.each, (node) => node.pendingNonce(address))
      const most = answers.filter((one) => one !== undefined && one > (first.nonce as number)).length
      return most >= majorityOf(answers.length) ? (reachedByMost(answers) ?? 0) : (first.nonce as number)
    },
    dispute(relayerRowId) {
      Object.assign(disputeOf(relayerRowId), { until: elapsed() + disputeMs, at_head: '' })
    },
  }
}

/** Nodes behind one URL may lag for a moment. */
const isRepeatedlyBehind = ({ head, latest, lags }: ChainState, seen: Head, counted: number): boolean =>
  head !== undefined && lags > 0 && (seen.number < head.number || counted < latest)

async function answerOf(node: Chain, address: string) {
  const snapshot = await node.snapshot()
  return { head: snapshot.head, latest: await snapshot.latestNonce(address) }
}

/** The highest block and count that most endpoints have; undefined when no majority answers. */
function viewOfMost(answers: (Answer | undefined)[]): Answer | undefined {
  const number = reachedByMost(answers.map((answer) => answer?.head.number))
  const latest = reachedByMost(answers.map((answer) => answer?.latest))
  const there = given(answers).filter(({ head }) => head.number === number)
  const withHash = (hash: string) => there.filter(({ head }) => head.hash === hash).length
  const [most] = there.sort((a, b) => withHash(b.head.hash) - withHash(a.head.hash))
  return most && latest !== undefined ? { head: most.head, latest } : undefined
}

/** An endpoint that has a newer block may count more. */
const isFalse = ({ head, latest }: Answer, most: Answer): boolean =>
  head.number > most.head.number + plausibleLead || (head.number <= most.head.number && latest > most.latest)
