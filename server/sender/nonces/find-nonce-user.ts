import { askEach } from '../../chain/ask-each.ts'
import type { SignedTransaction } from '../../chain/nonce-search.ts'
import {
  type CountFact,
  type MinedFact,
  minWitnesses,
  type NonceUser,
  proveCount,
  proveNonceUser,
  proveReceipts,
  type Witnesses,
} from '../../chain/proofs.ts'
import { endOfIntent, isDone } from '../../domain/decide.ts'
import { effectOf } from '../../domain/effect.ts'
import { type Ending, neverSigned } from '../../domain/ending.ts'
import { errorOf, missedError, receiptOf } from '../../domain/outcome.ts'
import { spendingOf } from '../../domain/policies/transaction-policies.ts'
import type { Proof } from '../../domain/proof.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import type { TransactionRow, TransactionUpdate, WholeTransactionRow } from '../../domain/transaction-rows.ts'
import { isSameWait, unprovenWait, type Wait, waitColumns } from '../../domain/wait-reason.ts'
import { BoundedMap } from '../../lib/bounded-map.ts'
import type { SenderContext } from '../context.ts'
import type { Counts } from './counts.ts'
import type { Irreversible } from './proven-nonce-actions.ts'
import type { UnknownTransactions } from './unknown.ts'

const firstWaitMs = 1_000
const maxWaitMs = 60_000
/** For how long every survey must report a nonce as used before a transaction that was never signed, and has no proven successor, fails. */
const giveUpMs = 3_600_000
const maxAtOnce = 4
const maxRemembered = 10_000
const maxRenumbered = 2_000
/** For how many blocks most of at least two endpoints must report a nonce as used before an unsigned transaction gets a new one. */
const unsignedBlocks = 3

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

type Used = Exclude<NonceUser, { by: 'nobody' }>

interface TracingDependencies extends Pick<SenderContext, 'store' | 'now' | 'elapsed'> {
  irreversible: Irreversible
  unknown: Pick<UnknownTransactions, 'noteMined'>
  noteUsed: Counts['noteUsed']
  /** See `Gaps`. */
  noteHead(chainId: number, head: number): void
}

/**
 * Finds the transactions that used the nonces of transactions without a receipt. It asks every endpoint in the background and delays
 * nothing else. A transaction is sent again with another nonce only when
 * - the signed bytes of the other one prove that this account signed them for this nonce,
 * - most of all endpoints have it in a block with enough confirmations, and none has a receipt of one of our attempts,
 * - and the transaction was accepted after this process started: one from a restored backup may have been sent already.
 * For a transaction from before the start, an other one with the same content was sent by another copy of this service, and its result
 * is taken over. Without proof the transaction waits. One that was never signed fails after an hour in which every survey reported the
 * nonce as used: nothing of it can be on the chain.
 */
export function createTracing({ store, now, elapsed, irreversible, unknown, noteUsed, noteHead }: TracingDependencies) {
  const cases = new BoundedMap<number, Case>(maxRemembered)
  const newestAtStart = createNewestAtStart(store)
  let inProgress = 0

  /** `found`: called later, unless nothing was found. */
  function trace(
    relayer: RelayerRow,
    witnesses: Witnesses,
    row: TransactionRow,
    found: (finding: Finding) => void,
  ): void {
    const known = caseOf(row.row_id)
    if (known.isOpen || elapsed() < known.poll_at || inProgress >= maxAtOnce) return
    known.isOpen = true
    inProgress += 1
    investigate(relayer, witnesses, row, known)
      .then((finding) => finding !== 'nothing' && found(finding))
      // The next round tries again after a failed endpoint or a closed store.
      .catch(() => undefined)
      .finally(() => {
        inProgress -= 1
        known.isOpen = false
        known.poll_at = elapsed() + known.wait_ms
        known.wait_ms = Math.min(known.wait_ms * 2, maxWaitMs)
      })
  }

  const caseOf = (rowId: number): Case =>
    cases.of(rowId, () => ({ since: undefined, from_block: 0, poll_at: 0, wait_ms: firstWaitMs, isOpen: false }))

  async function investigate(
    relayer: RelayerRow,
    witnesses: Witnesses,
    row: TransactionRow,
    known: Case,
  ): Promise<Finding> {
    const nonce = row.nonce as number
    const hashes = (await store.attempts(row.row_id)).map(({ hash }) => hash)
    const answers = await askEach(witnesses.each, (node) => node.receipts(hashes))
    if (answers.some((receipts) => receipts?.values().some((receipt) => receipt))) {
      known.since = undefined
      return 'shown'
    }
    const counted = await proveCount(witnesses, relayer.address)
    const user = await proveNonceUser(witnesses, relayer, { nonce, hashes, counted })
    if (user?.by === 'nobody') {
      known.since = undefined
      return witnesses.each.length >= minWitnesses ? 'disputed' : 'nothing'
    }
    const isUsed = counted !== undefined && counted.fact.at_least > nonce
    if (counted) noteHead(relayer.chain_id, counted.fact.head)
    // The hour and the blocks count only while most endpoints answer: the one that does may lie.
    if (known.since === undefined || !isUsed) {
      Object.assign(known, { since: elapsed(), from_block: counted?.fact.head ?? 0 })
    }
    const isChanged = await resolve(relayer, row, known, { user, used: isUsed ? counted : undefined, witnesses })
    return isChanged ? 'changed' : 'nothing'
  }

  /** `used`: most endpoints call the nonce used, while none has a receipt of ours. Resolves to whether the row has changed. */
  async function resolve(
    relayer: RelayerRow,
    row: TransactionRow,
    known: Case,
    { user, used, witnesses }: { user: Used | undefined; used: Proof<CountFact> | undefined; witnesses: Witnesses },
  ): Promise<boolean> {
    if (user?.by === 'foreign') return conclude(relayer, witnesses, row, user.proof)
    if (user) return wait(row, missingReceipt(user.proof.fact))
    const unsigned = neverSigned(row)
    if (!unsigned) return wait(row, uncertainNonce(row))
    // The only node may take its word back, and the nonce would be a gap.
    const agreed = witnesses.each.length >= minWitnesses ? used : undefined
    const isGivenUp = elapsed() - (known.since ?? 0) >= giveUpMs
    const words = `The nodes say that nonce ${row.nonce} is used, but none of them shows the transaction that used it`
    if (row.intent !== 'send' && (agreed || isGivenUp)) {
      const end = { status: endOfIntent[row.intent], proof: unsigned }
      return endUnsigned(row, end, agreed ? {} : { status_reason: words })
    }
    if (agreed && agreed.fact.head - known.from_block >= unsignedBlocks && (await isNew(row))) {
      const reason = `Nonce ${row.nonce} was used outside this service before this was signed`
      return irreversible.renumber(row, { unsigned, used: agreed }, reason, [])
    }
    if (!isGivenUp) return wait(row, uncertainNonce(row))
    const text = `${words}. Check the chain before you send this transaction again`
    const failure = { status_reason: text, error: errorOf('nonce_uncertain', text) }
    return endUnsigned(row, { status: 'failed', proof: unsigned }, failure)
  }

  async function conclude(
    relayer: RelayerRow,
    witnesses: Witnesses,
    row: TransactionRow,
    proof: Proof<MinedFact>,
  ): Promise<boolean> {
    const { row_id, revision } = row
    const { hash } = proof.fact
    cases.delete(row_id)
    noteUsed(relayer, proof)
    await irreversible.noteForeign(relayer, { nonce: row.nonce as number, hash })
    const whole = { ...row, data: await store.dataOf(row_id) }
    const isNewHere = await isNew(row)
    if (!isNewHere && isSameContent(whole, proof.fact)) return takeOver(witnesses, row, proof)
    // Another copy of this database may have sent it.
    await unknown.noteMined(relayer, proof)
    if (isNewHere && row.intent === 'send') {
      const reason = `Nonce ${row.nonce} was used by the transaction ${hash} outside this service`
      return irreversible.renumber(row, proof, reason, row.hash === null ? [] : spendingOf(relayer, whole))
    }
    const statusReason = isNewHere
      ? `Not sent: the transaction ${hash}, which this service did not send, used nonce ${row.nonce}`
      : `The transaction ${hash} used nonce ${row.nonce}. Another copy of this service may have sent this one at another nonce: ` +
        'check the chain before you send it again'
    const error = errorOf('nonce_used', statusReason)
    return isMoved(
      await store.move([
        { row_id, revision, set: { status_reason: statusReason, error }, end: { status: 'failed', proof } },
      ]),
    )
  }

  /** A row from before the start of this process, whose content another copy of this service has sent. */
  async function takeOver(witnesses: Witnesses, row: TransactionRow, { fact }: Proof<MinedFact>): Promise<boolean> {
    const { hash, receipt } = fact
    const effect = effectOf(row)
    const [proof] = await proveReceipts(witnesses, [{ attempts: [{ hash, purpose: 'send' }], effect }])
    if (!(proof && proof !== 'shallow')) return wait(row, unprovenWait({ ...receipt, outcome: 'unknown' }))
    const copy = 'Sent at this nonce by another copy of this service'
    const { row_id, revision } = row
    const { block_number, block_hash, succeeded } = receipt
    const block = { hash, block_number, block_hash, receipt: receiptOf(receipt) }
    const missed = succeeded && effect ? missedError(effect, proof.fact) : errorOf('reverted', copy)
    const outcome = isDone(proof.fact)
      ? { status_reason: copy, confirmed_at: new Date(now()).toISOString() }
      : { status_reason: `${succeeded ? missed.message : 'Reverted'}. ${copy}`, error: missed }
    const end: Ending = { status: isDone(proof.fact) ? 'confirmed' : 'failed', proof }
    return isMoved(await store.move([{ row_id, revision, set: { ...block, ...outcome }, end }]))
  }

  async function wait(row: TransactionRow, wait: Wait): Promise<boolean> {
    if (isSameWait(row, wait)) return false
    const { row_id, revision } = row
    return isMoved(await store.move([{ row_id, revision, set: waitColumns(row, wait) }]))
  }

  /** A transaction that was never signed does not hold its nonce. */
  async function endUnsigned(
    { row_id, revision }: TransactionRow,
    end: Ending,
    why: TransactionUpdate['set'],
  ): Promise<boolean> {
    cases.delete(row_id)
    return isMoved(await store.move([{ row_id, revision, set: { ...why, nonce: null }, end }]))
  }

  /** On request: gives new nonces to unsigned transactions whose nonces are below the account's count. */
  async function renumberUnsigned({ row_id }: RelayerRow, proof: Proof<CountFact>, below: number): Promise<void> {
    for (const row of await store.pending(row_id, 0, below, maxRenumbered)) {
      const unsigned = neverSigned(row)
      if (!unsigned || !(await isNew(row))) continue
      const reason = `Nonce ${row.nonce} was used outside this service, as POST .../nonce/heal accepted`
      await irreversible.renumber(row, { unsigned, used: proof }, reason, [])
    }
  }

  /** Whether it was accepted after this process started: then no other copy of the database can have sent it. */
  const isNew = async ({ row_id }: TransactionRow) => row_id > (await newestAtStart())

  return { trace, renumberUnsigned }
}

const uncertainNonce = ({ nonce }: TransactionRow): Wait => ({
  waiting_for: 'uncertain_nonce',
  text:
    `the nodes say that nonce ${nonce} is used, but by no transaction of this service, and none of them shows the ` +
    'transaction that used it',
})

const missingReceipt = (fact: SignedTransaction): Wait => ({
  waiting_for: 'missing_receipt',
  text:
    `block ${fact.block_number} lists its transaction ${fact.hash}, and no node shows the receipt, without which its outcome is ` +
    'not known. It ends when more than half of all nodes show the receipt',
})

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
function createNewestAtStart(store: Pick<SenderContext['store'], 'newestRowId'>): () => Promise<number> {
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
