import type { Quorum, Receipt, ReceiptView } from '../domain/decide.ts'
import type { Effect, Outcome } from '../domain/effect.ts'
import { toHex } from '../domain/encoding/digest.ts'
import { Proof } from '../domain/proof.ts'
import {
  type Authorized,
  askEach,
  type Chain,
  given,
  majorityOf,
  pollNode,
  type Receipts,
  reachedByMost,
  saidByMost,
  within,
} from './chain.ts'
import { findByNonce, type SignedTransaction } from './nonce-search.ts'
import { isRpcFailure, RpcUnavailable } from './rpc.ts'

/** The endpoints of a network. With one endpoint its answer is the proof, at the required confirmations. */
export interface Witnesses {
  each: Chain[]
  /** The same text, the same endpoints. */
  endpoints: string
  network: { required_confirmations: number }
}

/** With fewer endpoints there is nobody who could contradict. */
export const minWitnesses = 2
/** The number of rows in one survey, because each has a time limit. */
const maxRowsAtOnce = 100
/** The time limit for the search of one endpoint: some dozens of calls. */
const maxSearchMs = 30_000
/** The most distinct blocks in one request. */
const maxBlocks = 500

/** More than half of all endpoints count at least `at_least` transactions of the account, and more than half at most `at_most`. */
export interface CountFact {
  at_least: number
  at_most: number
  /** The height that more than half of all endpoints have. */
  head: number
}

export async function proveCount({ each }: Witnesses, address: string): Promise<Proof<CountFact> | undefined> {
  const polls = await askEach(each, (node) => pollNode(node, address))
  const atLeast = reachedByMost(polls.map((poll) => poll?.latest))
  const least = reachedByMost(polls.map((poll) => poll && -poll.latest))
  const head = reachedByMost(polls.map((poll) => poll?.head))
  if (atLeast === undefined || least === undefined || head === undefined) return undefined
  return new Proof({ at_least: atLeast, at_most: -least, head })
}

/** That more than half of all endpoints have at least this height. */
export async function proveHead({ each }: Witnesses): Promise<Proof<{ head: number }> | undefined> {
  const heads = await askEach(each, (node) => node.head())
  const head = reachedByMost(heads.map((one) => one?.number))
  return head === undefined ? undefined : new Proof({ head })
}

/** An attempt of a transaction. */
interface Own {
  hash: string
  purpose: 'send' | 'cancel'
}

/** A row whose receipt is to be proven. `shown`: the receipt that the asked node has. */
export interface Asked {
  attempts: Own[]
  shown?: ReceiptView
  /** What its success needs beyond the receipt; absent: nothing. */
  effect?: Effect | undefined
}

/**
 * For each row the receipt of one of its attempts, with the required confirmations: more than half of all endpoints agree about the
 * attempt, its block and whether it succeeded, its effect included; other members that they do not agree about are left out. `head`: of
 * the chain at which the asked node shows them.
 */
export async function proveReceipts({ each, network }: Witnesses, rows: Asked[], head?: number): Promise<Quorum[]> {
  const isDeep = (receipt: Receipt, height: number) =>
    height - receipt.block_number + 1 >= network.required_confirmations
  if (each.length < minWitnesses && head !== undefined) {
    return rows.map(({ shown, effect }) => {
      if (shown === undefined) return disagreed
      if (!isDeep(shown, head)) return shallow
      return isKnown(shown, effect) ? { is: 'proven', proof: new Proof(shown) } : disagreed
    })
  }
  const quorums: Quorum[] = []
  for (let at = 0; at < rows.length; at += maxRowsAtOnce) {
    const some = rows.slice(at, at + maxRowsAtOnce)
    const hashes = some.flatMap(({ attempts }) => attempts.map(({ hash }) => hash))
    const answers = await askEach(each, async (node) => {
      const [{ number }, receipts] = await Promise.all([node.head(), node.receipts(hashes)])
      return { head: number, seen: await Promise.all(some.map((row) => withOutcome(node, row, receipts))) }
    })
    for (const [index, { effect }] of some.entries()) {
      const seen = answers.map((answer) => answer?.seen[index])
      const deep = answers.map((answer) => {
        const one = answer?.seen[index]
        return one && isDeep(one, answer.head) && isKnown(one, effect) ? one : undefined
      })
      const proven = sameOfMost(deep, place)
      if (proven) {
        const fact = { ...proven, ...sameOfMost(deep, amounts), ...sameOfMost(deep, results) }
        quorums.push({ is: 'proven', proof: new Proof(fact) })
      } else quorums.push(sameOfMost(seen, place) ? shallow : disagreed)
    }
  }
  return quorums
}

const isNeeded = ({ succeeded, purpose }: ReceiptView, effect: Effect | undefined): effect is Effect =>
  effect !== undefined && succeeded && purpose === 'send'

/** A receipt without the effect that its transaction needs proves nothing. */
const isKnown = (seen: ReceiptView, effect: Effect | undefined): boolean =>
  !isNeeded(seen, effect) || seen.outcome === 'done' || seen.outcome === 'missed'

/** What a node shows of a row. Only what needs an effect costs another call. */
export async function withOutcome(
  node: Pick<Chain, 'code'>,
  { attempts, effect }: Asked,
  receipts: Receipts,
): Promise<ReceiptView | undefined> {
  const seen = newestOf(attempts, receipts)
  if (!seen || !isNeeded(seen, effect)) return seen
  return { ...seen, outcome: await outcomeOf(node, effect, seen) }
}

const noAddress = `0x${'0'.repeat(40)}`

/**
 * Whether a node shows the effect of a transaction in its block. A node that has no state of an old block ("missing trie node"), or that
 * does not answer, does not know: that is this transaction's result, and no other's.
 */
async function outcomeOf(node: Pick<Chain, 'code'>, effect: Effect, seen: ReceiptView): Promise<Outcome> {
  if (effect.kind === 'forwarded') return isForwarded(effect, seen)
  const { account, delegate } = effect
  try {
    const wanted = delegate === noAddress ? '0x' : `0xef0100${delegate.slice(2)}`
    return toHex(await node.code(account, seen.block_number)) === wanted ? 'done' : 'missed'
  } catch (error) {
    if (!isRpcFailure(error)) throw error
    return 'unknown'
  }
}

function isForwarded(
  { forwarder, signer }: Extract<Effect, { kind: 'forwarded' }>,
  { forwarded = [], logs_count }: ReceiptView,
): Outcome {
  if (logs_count === undefined) return 'unknown'
  const own = forwarded.filter((one) => one.forwarder === forwarder && one.signer === signer)
  return own.some(({ succeeded }) => succeeded) ? 'done' : 'missed'
}

const shallow: Quorum = { is: 'shallow' }
const disagreed: Quorum = { is: 'disagreed' }
const place = ['hash', 'purpose', 'block_number', 'block_hash', 'succeeded', 'outcome'] as const
const amounts = ['gas_used', 'effective_gas_price', 'l1_fee', 'fee'] as const
const results = ['contract_address', 'logs_count'] as const

/** Those members of a receipt, if most endpoints have the same ones: nothing that is final follows a single endpoint. */
function sameOfMost<Name extends keyof ReceiptView>(
  seen: (ReceiptView | undefined)[],
  names: readonly Name[],
): Pick<ReceiptView, Name> | undefined {
  const same = saidByMost(seen, (one) => [...place, ...names].map((name) => one[name]).join(' '))
  return same && (Object.fromEntries(names.filter((name) => name in same).map((name) => [name, same[name]])) as never)
}

/** The receipt of the newest attempt that has one. */
export function newestOf(attempts: Own[], receipts: Receipts): ReceiptView | undefined {
  const attempt = attempts.findLast(({ hash }) => receipts.get(hash))
  const receipt = attempt && receipts.get(attempt.hash)
  return attempt && receipt ? { ...receipt, hash: attempt.hash, purpose: attempt.purpose } : undefined
}

/** Whether the node says of every attempt that it has no receipt: a node that does not say denies nothing. */
export const deniesAll = (attempts: Pick<Own, 'hash'>[], receipts: Receipts): boolean =>
  attempts.every(({ hash }) => receipts.get(hash) === null)

interface Block {
  block_number: number | null
  block_hash: string | null
}

/** By block hash: whether another block is at its height. `proof`: more than half of all endpoints have another one there. */
interface Replaced {
  /** More endpoints have another block there than have this one. */
  isLikely: boolean
  proof: Proof<{ block_hash: string }> | undefined
}

export async function surveyBlocks({ each }: Witnesses, blocks: Block[]): Promise<Map<string, Replaced>> {
  const heights = new Map<string, number>()
  for (const { block_number, block_hash } of blocks) {
    if (block_number !== null && block_hash !== null && heights.size < maxBlocks) heights.set(block_hash, block_number)
  }
  const distinct = [...new Set(heights.values())]
  const answers = await askEach(each, async (chain) => {
    const found = await Promise.all(distinct.map((height) => chain.blockHash(height)))
    return new Map(distinct.map((height, index) => [height, found[index]]))
  })
  return new Map(
    [...heights].map(([blockHash, height]) => {
      const there = given(answers.map((answer) => answer?.get(height)))
      const others = there.filter((hash) => hash !== blockHash).length
      const proof = others >= majorityOf(each.length) ? new Proof({ block_hash: blockHash }) : undefined
      return [blockHash, { isLikely: others * 2 > there.length, proof }]
    }),
  )
}

/**
 * That a transaction is not on the chain, although its row says so: more than half of all endpoints have no receipt of it, and count
 * only lower nonces, at a height at which it would have the required confirmations.
 */
export async function proveAbsent(
  { each, network }: Witnesses,
  { from, nonce, hash, block_number }: { from: string; nonce: number; hash: string; block_number: number },
): Promise<Proof<{ hash: string }> | undefined> {
  const answers = await askEach(each, async (node) => {
    const [{ head, latest }, receipts] = await Promise.all([pollNode(node, from), node.receipts([hash])])
    const isHighEnough = head - block_number + 1 >= network.required_confirmations
    return isHighEnough && latest <= nonce && deniesAll([{ hash }], receipts)
  })
  return answers.filter((isAbsent) => isAbsent === true).length >= majorityOf(each.length)
    ? new Proof({ hash })
    : undefined
}

/** The transaction that used a nonce, as its signed bytes prove: they recover to the account and the chain. */
export async function proveSigned(
  { each }: Witnesses,
  account: Account,
  nonce: number,
): Promise<Proof<SignedTransaction> | undefined> {
  for (const node of each) {
    const found = await searchOne(node, account, nonce)
    if (found) return new Proof(found)
  }
  return undefined
}

interface Account {
  chain_id: number
  address: string
}

/** Undefined: the node has not found it in time. */
const searchOne = (node: Chain, account: Account, nonce: number) =>
  within(maxSearchMs, searchBlocks(node, account, nonce))

async function searchBlocks(node: Chain, account: Account, nonce: number) {
  const { head, latest } = await pollNode(node, account.address)
  return latest > nonce ? findByNonce(node, account, nonce, head) : undefined
}

/** A signed transaction that more than half of all endpoints have in a block with the required confirmations. */
export interface MinedFact extends SignedTransaction {
  receipt: Receipt
}

/**
 * Who used a nonce of the account. `nobody`: more than half of all endpoints count no further. `ours`: a block lists one of our attempts,
 * as its signed bytes prove; that ends nothing, because only a receipt tells the outcome. `foreign`: another transaction of the account,
 * mined by the word of more than half of all endpoints.
 */
export type NonceUser =
  | { by: 'nobody'; proof: Proof<CountFact> }
  | { by: 'ours'; proof: Proof<SignedTransaction> }
  | { by: 'foreign'; proof: Proof<MinedFact> }

/** `hashes`: of our attempts. Every endpoint is asked until one shows a proven foreign transaction. Undefined: nothing is proven. */
export async function proveNonceUser(
  witnesses: Witnesses,
  account: Account,
  { nonce, hashes, counted }: { nonce: number; hashes: string[]; counted: Proof<CountFact> | undefined },
): Promise<NonceUser | undefined> {
  if (counted && counted.fact.at_most <= nonce) return { by: 'nobody', proof: counted }
  let ours: NonceUser | undefined
  for (const node of witnesses.each) {
    const found = await searchOne(node, account, nonce)
    if (!found) continue
    if (hashes.includes(found.hash)) ours ??= { by: 'ours', proof: new Proof(found) }
    else {
      const [mined] = await proveReceipts(witnesses, [{ attempts: [{ hash: found.hash, purpose: 'send' }] }])
      if (mined?.is === 'proven') return { by: 'foreign', proof: new Proof({ ...found, receipt: mined.proof.fact }) }
    }
  }
  return ours
}

/** Who carried out an authorized transfer; undefined: nobody did, and nobody can any more. */
interface TransferFact {
  hash: string | undefined
  /** By the transfer, or by something else. */
  is_used: boolean
}

/**
 * What became of an authorized transfer (EIP-3009), since a block that is `blocks` below the head: of more than half of all endpoints the
 * same transaction, with the required confirmations, or none while the authorization is over: used for something else, or past
 * `valid_before` (in seconds). `agreed`: the transaction that more than half of them show, however
 * deep; `seen`: that some endpoint shows.
 */
export async function proveTransfer(
  { each, network: { required_confirmations } }: Witnesses,
  payment: Authorized & { valid_before: bigint },
  blocks: number,
): Promise<{ seen: string | undefined; agreed: string | undefined; proof: Proof<TransferFact> | undefined }> {
  const answers = await askEach(each, async (node) => {
    const { number } = await node.head()
    const deep = Math.max(number - required_confirmations + 1, 0)
    const transfer = await node.transferBy(payment, Math.max(number - blocks, 0), number)
    if (transfer)
      return {
        ...{ hash: transfer.hash, block: transfer.block_hash, isUsed: true },
        isProven: transfer.block_number <= deep,
      }
    const [isUsed, atMs = 0] = await Promise.all([node.authorizationState(payment, deep), node.blockTime(deep)])
    const isOver = isUsed === true || (isUsed === false && BigInt(atMs) >= payment.valid_before * 1_000n)
    return { hash: undefined, block: undefined, isUsed: isUsed === true, isProven: isOver }
  })
  const proven = answers.map((answer) => (answer?.isProven ? answer : undefined))
  const name = ({ hash, block, isUsed }: { hash: string | undefined; block: string | undefined; isUsed: boolean }) =>
    `${hash} ${block} ${isUsed}`
  const same = saidByMost(proven, name)
  return {
    agreed: saidByMost(answers, name)?.hash,
    seen: given(answers).find(({ hash }) => hash !== undefined)?.hash,
    proof: same && new Proof({ hash: same.hash, is_used: same.isUsed }),
  }
}

/** The chain's first block. */
export async function proveGenesis({ each }: Witnesses): Promise<Proof<{ genesis_hash: string }> | undefined> {
  const genesisHash = saidByMost(await askEach(each, (node) => node.blockHash(0)), (hash) => hash)
  return genesisHash === undefined ? undefined : new Proof({ genesis_hash: genesisHash })
}

/** That more than half of all endpoints have the receipt of one of these transactions. */
export async function proveAnyMined(
  { each }: Witnesses,
  hashes: string[],
): Promise<Proof<{ hashes: string[] }> | undefined> {
  const answers = await askEach(each, async (node) => [...(await node.receipts(hashes)).values()].some((one) => one))
  return answers.filter((has) => has === true).length >= majorityOf(each.length) ? new Proof({ hashes }) : undefined
}

/** That every endpoint is on another chain; undefined for any other error. */
export const proveWrongChain = (error: unknown): Proof<{ chain_id: bigint }> | undefined =>
  error instanceof RpcUnavailable && error.wrong_chain !== undefined
    ? new Proof({ chain_id: error.wrong_chain })
    : undefined
