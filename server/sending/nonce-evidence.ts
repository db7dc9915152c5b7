import { conflict } from '../errors.ts'
import type { RelayerRow } from '../store/rows.ts'
import type { NetworkClient, OneNode, SendingDependencies } from './dependencies.ts'
import { askEach, given, pollNode, reachedByMost, within } from './survey.ts'

/** A longer search continues in the background, and the next round uses its result. */
const patience_ms = 2_000
const first_search_ms = 2_000
const max_search_ms = 60_000
/** The time limit for the search of one endpoint: some dozens of calls. */
const max_search_of_one_ms = 30_000
/** For how many blocks a majority must report the count before it is accepted without a signed transaction. */
const doubt_blocks = 3
/** The most by which a majority raises the nonce counter without a signed transaction. */
const plausible_step = 64
/** A single endpoint is not a majority. */
export const min_witnesses = 2
const max_remembered = 10_000
const log_again_ms = 60_000

type Surveyed = Pick<NetworkClient, 'each' | 'network'>
type Rival = NonNullable<Awaited<ReturnType<OneNode['findByNonce']>>>

export interface Evidence {
  /**
   * The account's transaction count on chain that may be used, when a node reports more than the nonce counter. The counter is
   * raised by a signed transaction at the preceding nonce; by a majority of at least two endpoints over 3 blocks, by at most 64; or
   * on request: by a majority of at least two endpoints, or by the operator's own count (`stated`). Undefined: the count is
   * uncertain, and nothing may be signed. A larger count without such evidence for 3 blocks disables the relayer.
   */
  believe(
    relayer: RelayerRow,
    networkClient: Surveyed,
    latest: number,
    request?: HealRequest,
  ): Promise<number | undefined>
  /** The transaction that used a nonce, proven by its signed bytes, from the first endpoint that shows it. */
  findRival(each: OneNode[], relayer: RelayerRow, nonce: number): Promise<Rival | undefined>
  /** Whether a majority reports a count without evidence. */
  isInDoubt(relayer_row_id: number): boolean
  /**
   * The nonces below this one are used by the signed transaction that raised the counter, as long as most answering endpoints have
   * its receipt: a lower count alone does not free them. 0: no such transaction.
   */
  usedBelow(relayer: RelayerRow, each: OneNode[]): Promise<number>
}

/** An operator asks to follow the chain. `stated`: the account's transaction count, as the operator knows it. */
export interface HealRequest {
  stated: number | undefined
}

interface EvidenceDependencies extends Pick<SendingDependencies, 'store' | 'elapsed' | 'observer'> {
  setDisabled(relayer: RelayerRow, reason: string | null): Promise<void>
  /** See `Gaps`. */
  noteHead(chain_id: number, head: number): void
}

/** A count that a majority reports without evidence. */
interface Doubt {
  from_block: number
  search_at: number
  search_ms: number
  search: Promise<void> | undefined
  rival: (Rival & { nonce: number }) | undefined
}

export function createEvidence({ store, elapsed, observer, setDisabled, noteHead }: EvidenceDependencies): Evidence {
  const doubts = new Map<number, Doubt>()
  /** Concurrent requests for one relayer share a survey. */
  const asking = new Map<number, Promise<number | undefined>>()
  /** By relayer: the signed transaction that raised its counter last. */
  const raisedBy = new Map<number, { hash: string; nonce: number }>()
  /** By relayer: when a refused count was last logged. */
  const logged = new Map<number, number>()

  async function believe(relayer: RelayerRow, networkClient: Surveyed, latest: number, request?: HealRequest) {
    const { next_nonce } = await store.getAccount(relayer.chain_id, relayer.address)
    if (latest <= next_nonce) {
      doubts.delete(relayer.row_id)
      return latest
    }
    if (request) return survey(relayer, networkClient, latest, request)
    const asked = asking.get(relayer.row_id) ?? survey(relayer, networkClient, latest)
    asking.set(relayer.row_id, asked)
    return asked.finally(() => asking.delete(relayer.row_id))
  }

  async function survey(relayer: RelayerRow, networkClient: Surveyed, latest: number, request?: HealRequest) {
    const { chain_id, address } = relayer
    const { next_nonce } = await store.getAccount(chain_id, address)
    const polls = await askEach(networkClient.each, (node) => pollNode(node, address))
    const counted = reachedByMost(polls.map((poll) => poll?.latest))
    const head = reachedByMost(polls.map((poll) => poll?.head))
    if (counted === undefined || head === undefined) return undefined
    noteHead(chain_id, head)
    if (counted <= next_nonce) {
      doubts.delete(relayer.row_id)
      noteFalse(relayer, latest, next_nonce)
      return counted
    }

    const raise = async (to: number, evidence: string, isProven: boolean) => {
      observer.nonceNoticed?.('nonce counter raised', { relayer_id: relayer.id, from: next_nonce, to, evidence })
      await store.raiseNonce(chain_id, address, to, isProven)
      doubts.delete(relayer.row_id)
      return to
    }
    const doubt = doubtOf(relayer, head)
    await searched(doubt, networkClient.each, relayer, counted - 1)
    const { rival } = doubt
    if (rival && rival.nonce >= next_nonce && rival.nonce < counted) {
      // A transaction that a reorganization may still remove is no permanent proof.
      const isDeep = head - rival.block_number + 1 >= networkClient.network.required_confirmations
      if (raisedBy.size >= max_remembered) raisedBy.clear()
      raisedBy.set(relayer.row_id, rival)
      return raise(rival.nonce + 1, `signed transaction ${rival.hash}`, isDeep)
    }
    const isMajority = networkClient.each.length >= min_witnesses
    if (request && isMajority) return raise(counted, 'a majority of endpoints, on request', false)
    if (request?.stated !== undefined) {
      const { stated } = request
      if (stated > counted || counted - stated > plausible_step) throw implausible(stated, counted)
      if (stated > next_nonce) return raise(stated, 'the count that the operator states', false)
    }
    if (head - doubt.from_block < doubt_blocks) return undefined
    if (isMajority && counted - next_nonce <= plausible_step) return raise(counted, 'a majority of endpoints', false)
    await setDisabled(relayer, explainDoubt(counted, next_nonce))
    return undefined
  }

  function noteFalse({ row_id, id }: RelayerRow, counted: number, next_nonce: number): void {
    if ((logged.get(row_id) ?? Number.NEGATIVE_INFINITY) > elapsed() - log_again_ms) return
    if (logged.size >= max_remembered) logged.clear()
    logged.set(row_id, elapsed())
    observer.nonceNoticed?.('transaction count refused', { relayer_id: id, counted, next_nonce })
  }

  function doubtOf({ row_id }: RelayerRow, head: number): Doubt {
    const known = doubts.get(row_id)
    if (known) return known
    if (doubts.size >= max_remembered) doubts.clear()
    const doubt: Doubt = {
      from_block: head,
      search_at: 0,
      search_ms: first_search_ms,
      search: undefined,
      rival: undefined,
    }
    doubts.set(row_id, doubt)
    return doubt
  }

  /** Starts a search when none is running and one is due, and waits for it for a limited time. */
  async function searched(doubt: Doubt, each: OneNode[], relayer: RelayerRow, nonce: number): Promise<void> {
    if (!doubt.search && elapsed() >= doubt.search_at) {
      doubt.search = findRival(each, relayer, nonce)
        .then((rival) => {
          if (rival) doubt.rival = { ...rival, nonce }
        })
        .finally(() => {
          doubt.search = undefined
          doubt.search_at = elapsed() + doubt.search_ms
          doubt.search_ms = Math.min(doubt.search_ms * 2, max_search_ms)
        })
    }
    if (doubt.search) await within(patience_ms, doubt.search)
  }

  async function findRival(each: OneNode[], relayer: RelayerRow, nonce: number): Promise<Rival | undefined> {
    for (const node of each) {
      const found = await within(max_search_of_one_ms, searchOne(node, relayer, nonce))
      if (found) return found
    }
    return undefined
  }

  async function usedBelow({ row_id }: RelayerRow, each: OneNode[]): Promise<number> {
    const rival = raisedBy.get(row_id)
    if (!rival) return 0
    const answers = given(await askEach(each, (node) => node.receipts([rival.hash])))
    const shown = answers.filter(([receipt]) => receipt != null)
    return shown.length * 2 > answers.length ? rival.nonce + 1 : 0
  }

  return { believe, findRival, isInDoubt: (relayer_row_id) => doubts.has(relayer_row_id), usedBelow }
}

async function searchOne(node: OneNode, relayer: RelayerRow, nonce: number): Promise<Rival | undefined> {
  const { head, latest } = await pollNode(node, relayer.address)
  return latest > nonce ? node.findByNonce(relayer, nonce, head) : undefined
}

/** The receipts of a transaction with enough confirmations, from every endpoint that has one. */
export async function deepReceipts({ each, network }: Surveyed, hash: string) {
  const answers = await askEach(each, async (node) => {
    const [head, [receipt]] = await Promise.all([node.head(), node.receipts([hash])])
    return receipt && head.number - receipt.block_number + 1 >= network.required_confirmations ? receipt : null
  })
  return given(answers).filter((receipt) => receipt !== null)
}

export const doubted = 'The nodes count'

const explainDoubt = (counted: number, next_nonce: number): string =>
  `${doubted} ${counted} transactions of this account, but this service has assigned ${next_nonce} nonces, and no signed ` +
  `transaction proves the difference. Sending is stopped until the counts agree, or until ${needed}`

/** The action that resolves an uncertain count. */
export const needed =
  'POST .../nonce/heal finds a majority of at least two endpoints, or is given the count from a trusted source, for example a ' +
  'block explorer: {"next_nonce": 5000}'

const implausible = (stated: number, counted: number) =>
  conflict(
    '/body/next_nonce',
    `The nodes count ${counted} transactions of this account: next_nonce must not be above that, and at most ${plausible_step} ` +
      `below it, but it is ${stated}. Check the number, and the RPC URLs of the network`,
  )
