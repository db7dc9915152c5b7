import { BoundedMap } from '../../core/bounded-map.ts'
import { majorityOf } from '../../core/majority.ts'
import { errorOf, receiptOf } from '../../core/outcome.ts'
import { spendingOf } from '../../core/policies/transaction-policies.ts'
import type { Proof } from '../../core/proof.ts'
import type { RelayerRow } from '../../core/rows.ts'
import type { TransactionRow, WholeTransactionRow } from '../../core/sending-rows.ts'
import { isSameWait, waitColumns } from '../../core/wait-reason.ts'
import { askEach, pollNode } from '../../evm/ask-each.ts'
import {
  type CountFact,
  type MinedFact,
  min_witnesses,
  proveCount,
  proveMined,
  proveSigned,
  type Witnesses,
} from '../../evm/proofs.ts'
import type { SendingDependencies } from '../dependencies.ts'
import type { Irreversible } from './irreversible.ts'

const first_wait_ms = 1_000
const max_wait_ms = 60_000
/** For how long every survey must report a nonce as used, by a transaction that cannot be found, before its transaction fails. */
const give_up_ms = 3_600_000
const max_at_once = 4
const max_remembered = 10_000
const max_renumbered = 2_000
/** For how many blocks most of at least two endpoints must report a nonce as used before an unsigned transaction gets a new one. */
const unsigned_blocks = 3

/** What an investigation found: `changed`, the row; `disputed`, that most endpoints count fewer transactions; `shown`, a receipt of ours. */
export type Finding = 'nothing' | 'changed' | 'disputed' | 'shown'

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
  irreversible: Irreversible
  /** See `Gaps`. */
  noteHead(chain_id: number, head: number): void
}

/**
 * Finds the transactions that used the nonces of transactions without a receipt. It asks every endpoint in the background and delays
 * nothing else. A transaction is sent again with another nonce only when
 * - the signed bytes of the other one prove that this account signed them for this nonce,
 * - most of all endpoints have it in a block with enough confirmations, and none has a receipt of one of our attempts,
 * - and the transaction was accepted after this process started: one from a restored backup may have been sent already.
 * For a transaction from before the start, an other one with the same content was sent by another copy of this service, and its result
 * is taken over. Without proof the transaction waits; it fails after an hour in which every survey reported the nonce as used.
 */
export function createTracing({ store, now, elapsed, irreversible, noteHead }: TracingDependencies) {
  const cases = new BoundedMap<number, Case>(max_remembered)
  const newestAtStart = createNewestAtStart(store)
  let in_progress = 0

  /** `found`: called later, unless nothing was found. */
  function trace(
    relayer: RelayerRow,
    witnesses: Witnesses,
    row: TransactionRow,
    found: (finding: Finding) => void,
  ): void {
    const known = caseOf(row.row_id)
    if (known.isOpen || elapsed() < known.poll_at || in_progress >= max_at_once) return
    known.isOpen = true
    in_progress += 1
    investigate(relayer, witnesses, row, known)
      .then((finding) => finding !== 'nothing' && found(finding))
      // The next round tries again after a failed endpoint or a closed store.
      .catch(() => undefined)
      .finally(() => {
        in_progress -= 1
        known.isOpen = false
        known.poll_at = elapsed() + known.wait_ms
        known.wait_ms = Math.min(known.wait_ms * 2, max_wait_ms)
      })
  }

  const caseOf = (row_id: number): Case =>
    cases.of(row_id, () => ({ since: undefined, from_block: 0, poll_at: 0, wait_ms: first_wait_ms, isOpen: false }))

  async function investigate(
    relayer: RelayerRow,
    witnesses: Witnesses,
    row: TransactionRow,
    known: Case,
  ): Promise<Finding> {
    const nonce = row.nonce as number
    const hashes = (await store.attempts(row.row_id)).map(({ hash }) => hash)
    const answers = await askEach(witnesses.each, async (node) => {
      const [{ latest }, receipts] = await Promise.all([pollNode(node, relayer.address), node.receipts(hashes)])
      return { latest, hasReceipt: [...receipts.values()].some((receipt) => receipt) }
    })
    const answered = answers.filter((answer) => answer !== undefined)
    if (answered.some(({ hasReceipt }) => hasReceipt)) {
      known.since = undefined
      return 'shown'
    }
    const usedBy = answered.filter(({ latest }) => latest > nonce).length
    if (usedBy < majorityOf(answered.length)) {
      known.since = undefined
      const isMost = answered.length - usedBy >= majorityOf(witnesses.each.length)
      return isMost && witnesses.each.length >= min_witnesses ? 'disputed' : 'nothing'
    }
    const counted = await proveCount(witnesses, relayer.address)
    const isUsed = counted !== undefined && counted.fact.at_least > nonce
    if (counted) noteHead(relayer.chain_id, counted.fact.head)
    // The hour and the blocks count only while most endpoints answer: the one that does may lie.
    if (known.since === undefined || !isUsed) {
      Object.assign(known, { since: elapsed(), from_block: counted?.fact.head ?? 0 })
    }
    const isChanged = await resolve(relayer, witnesses, row, known, hashes, isUsed ? counted : undefined)
    return isChanged ? 'changed' : 'nothing'
  }

  /** `used`: most endpoints call the nonce used, while none has a receipt of ours. Resolves to whether the row has changed. */
  async function resolve(
    relayer: RelayerRow,
    witnesses: Witnesses,
    row: TransactionRow,
    known: Case,
    hashes: string[],
    used: Proof<CountFact> | undefined,
  ): Promise<boolean> {
    const signed = await proveSigned(witnesses, relayer, row.nonce as number)
    const mined = signed && (await proveMined(witnesses, signed))
    if (mined && !hashes.includes(mined.fact.hash)) return conclude(relayer, row, mined)
    const isWitnessed = used !== undefined && witnesses.each.length >= min_witnesses
    if (!signed && isWitnessed && (await isNew(row)) && row.hash === null) {
      if (used.fact.head - known.from_block >= unsigned_blocks) {
        const reason = `Nonce ${row.nonce} was used outside this service before this was signed`
        return irreversible.renumber(row, used, reason, [])
      }
    }
    if (elapsed() - (known.since ?? 0) >= give_up_ms) return giveUp(row)
    return wait(row)
  }

  async function conclude(relayer: RelayerRow, row: TransactionRow, proof: Proof<MinedFact>): Promise<boolean> {
    const { row_id, revision } = row
    const { hash } = proof.fact
    cases.delete(row_id)
    await irreversible.noteForeign(relayer, { nonce: row.nonce as number, hash })
    const whole = { ...row, data: await store.dataOf(row_id) }
    if (await isNew(row)) {
      if (row.intent === 'send') {
        const reason = `Nonce ${row.nonce} was used by the transaction ${hash} outside this service`
        return irreversible.renumber(row, proof, reason, row.hash === null ? [] : spendingOf(relayer, whole))
      }
    } else if (isSameContent(whole, proof.fact)) return takeOver(row, proof)
    const status_reason = (await isNew(row))
      ? `Not sent: the transaction ${hash}, which this service did not send, used nonce ${row.nonce}`
      : `The transaction ${hash} used nonce ${row.nonce}. Another copy of this service may have sent this one at another nonce: ` +
        'check the chain before you send it again'
    const error = errorOf('nonce_used', status_reason)
    return isMoved(await store.move([{ row_id, revision, set: { status: 'failed', status_reason, error } }]))
  }

  /** A row from before the start of this process, whose content another copy of this service has sent. */
  async function takeOver({ row_id, revision }: TransactionRow, { fact }: Proof<MinedFact>): Promise<boolean> {
    const { hash, receipt } = fact
    const copy = 'Sent at this nonce by another copy of this service'
    const end = receipt.succeeded
      ? { status: 'confirmed' as const, status_reason: copy, confirmed_at: new Date(now()).toISOString() }
      : { status: 'failed' as const, status_reason: `Reverted. ${copy}`, error: errorOf('reverted', copy) }
    const { block_number, block_hash } = receipt
    const block = { hash, block_number, block_hash, receipt: receiptOf(receipt) }
    return isMoved(await store.move([{ row_id, revision, set: { ...block, ...end } }]))
  }

  async function wait(row: TransactionRow): Promise<boolean> {
    const text =
      `the nodes say that nonce ${row.nonce} is used, but by no transaction of this service, and none of them shows the ` +
      'transaction that used it'
    const wait = { waiting_for: 'uncertain_nonce', text } as const
    if (isSameWait(row, wait)) return false
    const { row_id, revision } = row
    return isMoved(await store.move([{ row_id, revision, set: waitColumns(row, wait) }]))
  }

  async function giveUp({ row_id, revision, nonce, hash }: TransactionRow): Promise<boolean> {
    cases.delete(row_id)
    const status_reason =
      `The nodes say that nonce ${nonce} is used, but none of them shows the transaction that used it. ` +
      'Check the chain before you send this transaction again'
    // A transaction that was never signed does not hold its nonce.
    const unsigned = hash === null ? { nonce: null } : {}
    const error = errorOf('nonce_uncertain', status_reason)
    const set = { status: 'failed' as const, status_reason, error, ...unsigned }
    return isMoved(await store.move([{ row_id, revision, set }]))
  }

  /** On request: gives new nonces to unsigned transactions whose nonces are below the account's count. */
  async function renumberUnsigned({ row_id }: RelayerRow, proof: Proof<CountFact>, below: number): Promise<void> {
    for (const row of await store.pending(row_id, 0, below, max_renumbered)) {
      if (row.hash !== null || !(await isNew(row))) continue
      const reason = `Nonce ${row.nonce} was used outside this service, as POST .../nonce/heal accepted`
      await irreversible.renumber(row, proof, reason, [])
    }
  }

  /** Whether it was accepted after this process started: then no other copy of the database can have sent it. */
  const isNew = async ({ row_id }: TransactionRow) => row_id > (await newestAtStart())

  return { trace, renumberUnsigned }
}

/** Everything that signed bytes do, apart from their prices. */
function isSameContent(row: WholeTransactionRow, { content }: MinedFact): boolean {
  const lists = [row.access_list ?? [], row.authorization_list ?? []]
  const shown = [content.access_list ?? [], content.authorization_list ?? []]
  return (
    content.to === row.to &&
    content.value === row.value &&
    content.data === row.data &&
    (row.gas_limit === null || content.gas_limit === row.gas_limit) &&
    JSON.stringify(shown) === JSON.stringify(lists)
  )
}

const isMoved = ([row]: (TransactionRow | undefined)[]): boolean => row !== undefined

/** The highest row id of a transaction when this process started. While the database is down then, it is read later: fewer rows are new. */
function createNewestAtStart(store: Pick<SendingDependencies['store'], 'newestRowId'>): () => Promise<number> {
  let newest: Promise<number> | undefined
  const read = () => {
    newest ??= store.newestRowId()
    newest.catch(() => {
      newest = undefined
    })
    return newest
  }
  void read().catch(() => undefined)
  return read
}
