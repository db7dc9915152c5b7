import { spendingOf } from '../policies/transaction-policies.ts'
import type { RelayerRow } from '../store/rows.ts'
import type { TransactionRow } from '../store/sending-rows.ts'
import type { NetworkClient, SendingDependencies } from './dependencies.ts'
import { createNewestAtStart } from './newest-at-start.ts'
import { deepReceipts, type Evidence, min_witnesses } from './nonce-evidence.ts'
import { errorOf, receiptOf } from './outcome.ts'
import { largestGroup, receiptsOfMost } from './receipts-of-most.ts'
import type { Seen } from './state.ts'
import { askEach, given, majorityOf, pollNode, reachedByMost } from './survey.ts'
import { waitColumns } from './wait-reason.ts'

const first_wait_ms = 1_000
const max_wait_ms = 60_000
/** For how long every survey must report a nonce as used, by a transaction that cannot be found, before its transaction fails. */
const give_up_ms = 3_600_000
const max_at_once = 4
const max_remembered = 10_000
const max_renumbered = 2_000
/**
 * For how many blocks a majority of at least two endpoints must report a nonce as used before an unsigned transaction gets a new
 * one.
 */
const unsigned_blocks = 3

const nothing: Finding = { isChanged: false, isDisputed: false, seen: null }

type Surveyed = Pick<NetworkClient, 'each' | 'network'>
type Receipts = Awaited<ReturnType<typeof deepReceipts>>
type Rival = NonNullable<Awaited<ReturnType<Evidence['findRival']>>>

/** The result of an investigation. */
interface Finding {
  isChanged: boolean
  /** Most endpoints count fewer transactions: the nonce is not used. */
  isDisputed: boolean
  /** The transaction's own receipt, by most endpoints. */
  seen: Seen | null
}

/** A transaction without a receipt whose nonce is used by the chain's count. */
interface Case {
  /** The time since which all surveys report this; undefined: the last survey did not. */
  since: number | undefined
  from_block: number
  poll_at: number
  wait_ms: number
  isOpen: boolean
}

interface TracingDependencies extends Pick<SendingDependencies, 'store' | 'now' | 'elapsed'> {
  findRival: Evidence['findRival']
  /** See `Gaps`. */
  noteHead(chain_id: number, head: number): void
}

/**
 * Finds the transactions (rivals) that used the nonces of transactions without a receipt. It asks every endpoint in the background
 * and delays nothing else. A transaction is sent again with another nonce only when
 * - the rival's signed bytes prove that this account signed them for this nonce,
 * - a majority of all endpoints has the rival in a block with enough confirmations, and none has a receipt of one of our attempts,
 * - and the transaction was accepted after this process started: one from a restored backup may have been sent already.
 * A rival with the same content was sent by another copy of this service, and its result is taken over. Without proof the
 * transaction waits; it fails after an hour in which every survey, by most endpoints, reported the nonce as used.
 */
export function createTracing({ store, now, elapsed, findRival, noteHead }: TracingDependencies) {
  const cases = new Map<number, Case>()
  const newestAtStart = createNewestAtStart(store)
  let underWay = 0

  /** `found`: called later, with a finding that changes something. */
  function trace(
    relayer: RelayerRow,
    networkClient: Surveyed,
    row: TransactionRow,
    found: (finding: Finding) => void,
  ): void {
    const known = caseOf(row.row_id)
    if (known.isOpen || elapsed() < known.poll_at || underWay >= max_at_once) return
    known.isOpen = true
    underWay += 1
    investigate(relayer, networkClient, row, known)
      .then((finding) => (finding.isChanged || finding.isDisputed || finding.seen) && found(finding))
      // The next round tries again after a failed endpoint or a closed store.
      .catch(() => undefined)
      .finally(() => {
        underWay -= 1
        known.isOpen = false
        known.poll_at = elapsed() + known.wait_ms
        known.wait_ms = Math.min(known.wait_ms * 2, max_wait_ms)
      })
  }

  function caseOf(row_id: number): Case {
    const known = cases.get(row_id)
    if (known) return known
    if (cases.size >= max_remembered) cases.clear()
    const made = { since: undefined, from_block: 0, poll_at: 0, wait_ms: first_wait_ms, isOpen: false }
    cases.set(row_id, made)
    return made
  }

  async function investigate(
    relayer: RelayerRow,
    networkClient: Surveyed,
    row: TransactionRow,
    known: Case,
  ): Promise<Finding> {
    const { each } = networkClient
    const nonce = row.nonce as number
    const attempts = await store.attempts(row.row_id)
    const hashes = attempts.map(({ hash }) => hash)
    const answers = await askEach(each, async (node) => {
      const [{ head, latest }, receipts] = await Promise.all([pollNode(node, relayer.address), node.receipts(hashes)])
      return { head, latest, hasReceipt: receipts.some((receipt) => receipt !== undefined) }
    })
    const answered = given(answers)
    const usedBy = answered.filter(({ latest }) => latest > nonce).length
    if (answered.some(({ hasReceipt }) => hasReceipt)) {
      known.since = undefined
      return { ...nothing, seen: (await receiptsOfMost(each, [attempts])).seen[0] ?? null }
    }
    if (usedBy < majorityOf(answered.length)) {
      known.since = undefined
      return { ...nothing, isDisputed: each.length >= min_witnesses && answered.length >= majorityOf(each.length) }
    }
    return { ...nothing, isChanged: await resolve(relayer, networkClient, row, known, hashes, answered) }
  }

  /** `answered`: by endpoints of which most call the nonce used, while none has a receipt. Resolves to whether the row has changed. */
  async function resolve(
    relayer: RelayerRow,
    networkClient: Surveyed,
    row: TransactionRow,
    known: Case,
    hashes: string[],
    answered: { head: number; latest: number }[],
  ): Promise<boolean> {
    const nonce = row.nonce as number
    const usedBy = answered.filter(({ latest }) => latest > nonce).length
    const head = reachedByMost(answered.map((answer) => answer.head)) as number
    noteHead(relayer.chain_id, head)
    // The hour and the blocks count only while most endpoints answer: the one that does may lie.
    const isSurveyed = answered.length >= majorityOf(networkClient.each.length)
    if (known.since === undefined || !isSurveyed) Object.assign(known, { since: elapsed(), from_block: head })

    const rival = await findRival(networkClient.each, relayer, nonce)
    const receipts = rival ? await deepReceipts(networkClient, rival.hash) : []
    const isSettled = receipts.length >= majorityOf(networkClient.each.length)
    if (rival && isSettled && !hashes.includes(rival.hash)) {
      return conclude(relayer, row, rival, hashes.length > 0, receipts)
    }
    const isAgreed = usedBy >= majorityOf(networkClient.each.length) && networkClient.each.length >= min_witnesses
    if (!rival && isAgreed && isNew(row, await newestAtStart()) && row.hash === null) {
      if (head - known.from_block >= unsigned_blocks) {
        const reason = `Nonce ${nonce} was used outside this service before this was signed; it has a new nonce`
        return (await store.renumber(row.row_id, row.revision, reason, [])) !== undefined
      }
    }
    if (elapsed() - (known.since ?? 0) >= give_up_ms) return giveUp(row)
    return wait(row)
  }

  /** `receipts`: of the rival, one from each endpoint that has one. */
  async function conclude(
    relayer: RelayerRow,
    row: TransactionRow,
    rival: Rival,
    isSigned: boolean,
    receipts: Receipts,
  ): Promise<boolean> {
    const { row_id, revision } = row
    const { hash, block_number, block_hash } = rival
    const [receipt] = largestGroup(receipts)
    cases.delete(row_id)
    const data = await store.dataOf(row_id)
    if (rival.to === row.to && rival.value === BigInt(row.value) && rival.data === (data ?? '0x')) {
      const copy = 'Sent at this nonce by another copy of this service'
      const end = receipt?.succeeded
        ? { status: 'confirmed' as const, status_reason: copy, confirmed_at: new Date(now()).toISOString() }
        : { status: 'failed' as const, status_reason: `Reverted. ${copy}`, error: errorOf('reverted', copy) }
      const block = {
        hash,
        block_number,
        block_hash,
        ...(receipt?.block_hash === block_hash && { receipt: receiptOf(receipt) }),
      }
      return isMoved(await store.move([{ row_id, revision, set: { ...block, ...end } }]))
    }
    if (row.intent === 'send' && isNew(row, await newestAtStart())) {
      const reason = `Nonce ${row.nonce} was used by the transaction ${hash} outside this service; it has a new nonce`
      return (
        (await store.renumber(row_id, revision, reason, isSigned ? spendingOf(relayer, { ...row, data }) : [])) !==
        undefined
      )
    }
    const status_reason = `Not sent: the transaction ${hash}, which this service did not send, used nonce ${row.nonce}`
    const error = errorOf('nonce_used', status_reason)
    return isMoved(await store.move([{ row_id, revision, set: { status: 'failed', status_reason, error } }]))
  }

  async function wait(row: TransactionRow): Promise<boolean> {
    const text =
      `the nodes say that nonce ${row.nonce} is used, but by no transaction of this service, and none of them shows the ` +
      'transaction that used it'
    const set = waitColumns(row, { waiting_for: 'uncertain_nonce', text })
    if (row.status_reason === set.status_reason) return false
    const { row_id, revision } = row
    return isMoved(await store.move([{ row_id, revision, set }]))
  }

  async function giveUp(row: TransactionRow): Promise<boolean> {
    const { row_id, revision, nonce } = row
    cases.delete(row_id)
    const status_reason =
      `The nodes say that nonce ${nonce} is used, but none of them shows the transaction that used it. ` +
      'Check the chain before you send this transaction again'
    // A transaction that was never signed does not hold its nonce.
    const unsigned = row.hash === null ? { nonce: null } : {}
    const error = errorOf('nonce_uncertain', status_reason)
    return isMoved(
      await store.move([{ row_id, revision, set: { status: 'failed', status_reason, error, ...unsigned } }]),
    )
  }

  /** On request: gives new nonces to unsigned transactions whose nonces are below the account's count. */
  async function renumberUnsigned({ row_id }: RelayerRow, latest: number): Promise<void> {
    for (const row of await store.pending(row_id, 0, latest, max_renumbered)) {
      if (row.hash !== null || !isNew(row, await newestAtStart())) continue
      await store.renumber(
        row.row_id,
        row.revision,
        `Nonce ${row.nonce} was used outside this service, as POST .../nonce/heal accepted; it has a new nonce`,
        [],
      )
    }
  }

  return { trace, renumberUnsigned }
}

/** Whether it was accepted after this process started: then no other copy of the database can have sent it. */
const isNew = ({ row_id }: TransactionRow, newestAtStart: number): boolean => row_id > newestAtStart

const isMoved = ([row]: (TransactionRow | undefined)[]): boolean => row !== undefined
