import { askEach } from '../../chain/chain.ts'
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
import {
  type Ending,
  endOfIntent,
  type ForeignUse,
  isDone,
  type NeverSigned,
  neverSigned,
} from '../../domain/decide.ts'
import { effectOf } from '../../domain/effect.ts'
import { missedError, receiptOf, transactionError } from '../../domain/outcome.ts'
import { spendingOf } from '../../domain/policies/transaction-policies.ts'
import type { Proof } from '../../domain/proof.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { mayAskFor } from '../../domain/submission.ts'
import type { Spend, TransactionRow, TransactionUpdate, WholeTransactionRow } from '../../domain/transaction-rows.ts'
import { isSameWait, quorumWait, type Wait, waitColumns } from '../../domain/wait-reason.ts'
import { BoundedMap } from '../../lib/cache.ts'
import type { NonceContext } from '../context.ts'
import type { Counts } from './counts.ts'
import { type ExternalTransactions, noteForeign } from './external.ts'

const firstWaitMs = 1_000
const maxWaitMs = 60_000
/** For how long every survey must report a nonce as used before a transaction that was never signed, and has no proven successor, fails. */
const giveUpMs = 3_600_000
const maxAtOnce = 4
const maxRemembered = 10_000
const maxRenumbered = 2_000
/** For how many blocks most of at least two endpoints must report a nonce as used before an unsigned transaction gets a new one. */
const unsignedBlocks = 3

/**
 * What an investigation found: `changed`, the row; `disputed`, that most endpoints count fewer transactions; `shown`, a receipt of ours.
 */
type Finding = 'nothing' | 'changed' | 'disputed' | 'shown'

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
export class NonceUsers {
  readonly #context: NonceContext
  readonly #counts: Counts
  readonly #external: ExternalTransactions
  readonly #cases = new BoundedMap<number, Case>(maxRemembered)
  /**
   * The highest row id of a transaction when this process started. While the database is down then, it is read later: fewer rows are new.
   */
  #newestAtStart: Promise<number> | undefined
  #inProgress = 0

  constructor(context: NonceContext, counts: Counts, external: ExternalTransactions) {
    this.#context = context
    this.#counts = counts
    this.#external = external
    void this.#readNewest().catch(() => undefined)
  }

  /** `found`: called later, unless nothing was found. */
  trace(relayer: RelayerRow, witnesses: Witnesses, row: TransactionRow, found: (finding: Finding) => void): void {
    const known = this.#caseOf(row.row_id)
    if (known.isOpen || this.#context.elapsed() < known.poll_at || this.#inProgress >= maxAtOnce) return
    known.isOpen = true
    this.#inProgress += 1
    this.#investigate(relayer, witnesses, row, known)
      .then((finding) => finding !== 'nothing' && found(finding))
      // The next tick tries again after a failed endpoint or a closed store.
      .catch(() => undefined)
      .finally(() => {
        this.#inProgress -= 1
        known.isOpen = false
        known.poll_at = this.#context.elapsed() + known.wait_ms
        known.wait_ms = Math.min(known.wait_ms * 2, maxWaitMs)
      })
  }

  async #investigate(relayer: RelayerRow, witnesses: Witnesses, row: TransactionRow, known: Case): Promise<Finding> {
    const { store, elapsed } = this.#context
    const nonce = row.nonce as number
    const hashes = (await store.attempts(row.row_id)).map(({ hash }) => hash)
    const counted = await proveCount(witnesses, relayer.address)
    const asked = mayAskFor(row, counted) ? hashes : []
    const answers = await askEach(witnesses.each, (node) => node.receipts(asked))
    if (answers.some((receipts) => receipts?.values().some((receipt) => receipt))) {
      known.since = undefined
      return 'shown'
    }
    const user = await proveNonceUser(witnesses, relayer, { nonce, hashes, counted })
    if (user?.by === 'nobody') {
      known.since = undefined
      return witnesses.each.length >= minWitnesses ? 'disputed' : 'nothing'
    }
    const isUsed = counted !== undefined && counted.fact.at_least > nonce
    if (counted) this.#counts.noteHead(relayer.chain_id, counted.fact.head)
    // The hour and the blocks count only while most endpoints answer: the one that does may lie.
    if (known.since === undefined || !isUsed) {
      Object.assign(known, { since: elapsed(), from_block: counted?.fact.head ?? 0 })
    }
    const isChanged = await this.#resolve(relayer, row, known, { user, used: isUsed ? counted : undefined, witnesses })
    return isChanged ? 'changed' : 'nothing'
  }

  /** `used`: most endpoints call the nonce used, while none has a receipt of ours. Resolves to whether the row has changed. */
  async #resolve(
    relayer: RelayerRow,
    row: TransactionRow,
    known: Case,
    { user, used, witnesses }: { user: Used | undefined; used: Proof<CountFact> | undefined; witnesses: Witnesses },
  ): Promise<boolean> {
    if (user?.by === 'foreign') return this.#conclude(relayer, witnesses, row, user.proof)
    if (user) return this.#wait(row, missingReceipt(user.proof.fact))
    const unsigned = neverSigned(row)
    if (!unsigned) return this.#wait(row, uncertainNonce(row))
    // The only node may take its word back, and the nonce would be a gap.
    const agreed = witnesses.each.length >= minWitnesses ? used : undefined
    const isGivenUp = this.#context.elapsed() - (known.since ?? 0) >= giveUpMs
    const words = `The nodes say that nonce ${row.nonce} is used, but none of them shows the transaction that used it`
    if (row.intent !== 'send' && (agreed || isGivenUp)) {
      const end = { status: endOfIntent[row.intent], proof: unsigned }
      return this.#endUnsigned(row, end, agreed ? {} : { status_reason: words })
    }
    if (agreed && agreed.fact.head - known.from_block >= unsignedBlocks && (await this.#isNew(row))) {
      const reason = `Nonce ${row.nonce} was used outside this service before this was signed`
      return renumber(this.#context, row, { unsigned, used: agreed }, { reason })
    }
    if (!isGivenUp) return this.#wait(row, uncertainNonce(row))
    const text = `${words}. Check the chain before you send this transaction again`
    const failure = { status_reason: text, error: transactionError('nonce_uncertain', text) }
    return this.#endUnsigned(row, { status: 'failed', proof: unsigned }, failure)
  }

  async #conclude(
    relayer: RelayerRow,
    witnesses: Witnesses,
    row: TransactionRow,
    proof: Proof<MinedFact>,
  ): Promise<boolean> {
    const { row_id } = row
    const { hash, receipt } = proof.fact
    this.#cases.delete(row_id)
    this.#counts.noteUsed(relayer, proof)
    await noteForeign(this.#context, relayer, { nonce: row.nonce as number, hash, block: receipt.block_number })
    const whole = { ...row, data: await this.#context.store.dataOf(row_id) }
    const isNewHere = await this.#isNew(row)
    if (!isNewHere && isSameContent(whole, proof.fact)) return this.#takeOver(witnesses, row, proof)
    // Another copy of this database may have sent it.
    await this.#external.noteMined(relayer, proof)
    if (isNewHere && row.intent === 'send') {
      const reason = `Nonce ${row.nonce} was used by the transaction ${hash} outside this service`
      const budget = await this.#context.budgets.find(row.caller)
      const spending = row.hash === null ? [] : spendingOf(relayer, whole, { budget })
      return renumber(this.#context, row, proof, { reason, spending })
    }
    const statusReason = isNewHere
      ? `Not sent: the transaction ${hash}, which this service did not send, used nonce ${row.nonce}`
      : `The transaction ${hash} used nonce ${row.nonce}. Another copy of this service may have sent this one at another nonce: ` +
        'check the chain before you send it again'
    const error = transactionError('nonce_used', statusReason)
    return this.#update(row, { set: { status_reason: statusReason, error }, end: { status: 'failed', proof } })
  }

  /** A row from before the start of this process, whose content another copy of this service has sent. */
  async #takeOver(witnesses: Witnesses, row: TransactionRow, { fact }: Proof<MinedFact>): Promise<boolean> {
    const { hash, receipt } = fact
    const effect = effectOf(row)
    const [quorum] = await proveReceipts(witnesses, [{ attempts: [{ hash, purpose: 'send' }], effect }])
    if (quorum?.is !== 'proven') return this.#wait(row, quorumWait({ ...receipt, outcome: 'unknown' }))
    const { proof } = quorum
    const copy = 'Sent at this nonce by another copy of this service'
    const { block_number, block_hash, succeeded } = receipt
    const block = { hash, block_number, block_hash, receipt: receiptOf(receipt) }
    const missed = succeeded && effect ? missedError(effect, proof.fact) : transactionError('reverted', copy)
    const outcome = isDone(proof.fact)
      ? { status_reason: copy, confirmed_at: new Date(this.#context.now()).toISOString() }
      : { status_reason: `${succeeded ? missed.message : 'Reverted'}. ${copy}`, error: missed }
    const end: Ending = { status: isDone(proof.fact) ? 'confirmed' : 'failed', proof }
    return this.#update(row, { set: { ...block, ...outcome }, end })
  }

  /** A transaction that was never signed does not hold its nonce. */
  #endUnsigned(row: TransactionRow, end: Ending, why: TransactionUpdate['set']): Promise<boolean> {
    this.#cases.delete(row.row_id)
    return this.#update(row, { set: { ...why, nonce: null }, end })
  }

  async #wait(row: TransactionRow, wait: Wait): Promise<boolean> {
    return !isSameWait(row, wait) && this.#update(row, { set: waitColumns(row, wait) })
  }

  async #update(
    { row_id, revision }: TransactionRow,
    change: Pick<TransactionUpdate, 'set' | 'end'>,
  ): Promise<boolean> {
    const [updated] = await this.#context.store.move([{ row_id, revision, ...change }])
    return updated !== undefined
  }

  /** On request: gives new nonces to unsigned transactions whose nonces are below the account's count. */
  async renumberUnsigned({ row_id }: RelayerRow, proof: Proof<CountFact>, below: number): Promise<void> {
    for (const row of await this.#context.store.pending(row_id, { from: 0, below }, maxRenumbered)) {
      const unsigned = neverSigned(row)
      if (!unsigned || !(await this.#isNew(row))) continue
      const reason = `Nonce ${row.nonce} was used outside this service, as POST .../nonce/reconcile accepted`
      await renumber(this.#context, row, { unsigned, used: proof }, { reason })
    }
  }

  #caseOf(rowId: number): Case {
    const timing = { from_block: 0, poll_at: 0, wait_ms: firstWaitMs }
    return this.#cases.of(rowId, () => ({ since: undefined, ...timing, isOpen: false }))
  }

  /** Whether it was accepted after this process started: then no other copy of the database can have sent it. */
  async #isNew({ row_id }: TransactionRow): Promise<boolean> {
    return row_id > (await this.#readNewest())
  }

  #readNewest(): Promise<number> {
    this.#newestAtStart ??= this.#context.store.newestRowId()
    this.#newestAtStart.catch(() => {
      this.#newestAtStart = undefined
    })
    return this.#newestAtStart
  }
}

/**
 * Gives a transaction whose nonce somebody else used a new one: another transaction is mined there, or this one was never signed and
 * most endpoints count further. Resolves to whether it has one.
 */
async function renumber(
  { store }: NonceContext,
  { row_id, revision }: TransactionRow,
  proof: Proof<ForeignUse> | { unsigned: NeverSigned; used: Proof<CountFact> },
  { reason, spending = [] }: { reason: string; spending?: Spend[] },
): Promise<boolean> {
  const its = 'used' in proof ? proof.unsigned : proof
  return (await store.renumber({ row_id, revision, reason, spending }, its)) !== undefined
}

const uncertainNonce = ({ nonce }: TransactionRow): Wait => ({
  wait_reason: 'uncertain_nonce',
  text:
    `the nodes say that nonce ${nonce} is used, but by no transaction of this service, and none of them shows the ` +
    'transaction that used it',
})

const missingReceipt = (fact: SignedTransaction): Wait => ({
  wait_reason: 'missing_receipt',
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
