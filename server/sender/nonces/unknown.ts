import { keccak256 } from 'ethers/crypto'
import { askEach, within } from '../../chain/ask-each.ts'
import { findInPool, type SignedTransaction } from '../../chain/nonce-search.ts'
import { proveSigned, type Witnesses } from '../../chain/proofs.ts'
import { DomainError, errorOf, inputFault } from '../../domain/errors.ts'
import type { Proof } from '../../domain/proof.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import type { TransactionRequest } from '../../domain/transaction-request.ts'
import type { Account } from '../../domain/transaction-rows.ts'
import { BoundedMap } from '../../lib/bounded-map.ts'
import { given, reachedByMost } from '../../lib/majority.ts'
import type { Content } from '../../store/transaction-store.ts'
import type { SenderContext } from '../context.ts'
import type { Irreversible } from './proven-nonce-actions.ts'

const page = 1_000
const maxRelayers = 100_000
const comparedAtOnce = 16
const maxRemembered = 100_000
/** The most nonces of an account in the pools of nodes that are taken for transactions of another copy. */
const maxPooled = 1_000
const maxSearched = 10_000
/** Nodes that lack the state of a block lack that of earlier ones too. */
const maxFailures = 5
/** A longer search continues in the background. */
const patienceMs = 2_000
const searchAgainMs = 10_000

type Payment = Pick<TransactionRequest, 'to' | 'value' | 'data'>

/**
 * Compares each account's count on chain, and in the pools of nodes, with the nonce counter before this process assigns or raises a
 * nonce. Nonces beyond the counter are used by transactions that this database does not know: it is older than another copy of it, or
 * another program uses the key. Until the operator acknowledges them, a payment with the receiver, value and data of one of them is
 * refused, and every payment while one is not found: it may have been sent already.
 */
export interface UnknownTransactions {
  /** Throws DomainError: 409 for a payment that may have been sent, 503 while the nodes do not say what was sent. */
  check(relayer: RelayerRow, witnesses: Witnesses, payment: Payment): Promise<void>
  /**
   * Called before the counter is raised to `count`. By a signed transaction (`isShown`): what no pool showed at the comparison may be mined
   * later, and is noted and found. Otherwise the difference is noted if this process has not compared the account yet.
   */
  beforeRaise(relayer: RelayerRow, witnesses: Witnesses, raise: { count: number; isShown: boolean }): Promise<void>
  /** Somebody else's transaction was mined at a nonce that this database had assigned. */
  noteMined(relayer: RelayerRow, proof: Proof<SignedTransaction>): Promise<void>
  /** Called for a new relayer: what its address has sent until now is no other copy's. */
  noteNew(relayer: RelayerRow): Promise<void>
}

type Dependencies = Pick<SenderContext, 'store' | 'networkClient' | 'elapsed' | 'observer'> &
  Pick<Irreversible, 'noteForeign'>

export function createUnknown(dependencies: Dependencies): UnknownTransactions {
  const { store, networkClient, elapsed, observer, noteForeign } = dependencies
  /** By row id of the relayer: the comparison, which is made once. */
  const compared = new BoundedMap<number, Promise<void>>(maxRemembered)
  /** Relayers that existed when this process started. What waits in pools for their addresses may be another copy's. */
  const old = new Set<number>()
  const searches = new BoundedMap<string, { at: number; work: Promise<void> }>(maxRemembered)
  let hasSome: Promise<boolean> | undefined
  // A network whose nodes do not answer delays no other network.
  const passes = readRelayers().then(
    (networks) => new Map([...networks].map(([network, relayers]) => [network, compareAll(relayers)])),
  )
  passes.catch(() => undefined)

  async function readRelayers(): Promise<Map<string, RelayerRow[]>> {
    const relayers: RelayerRow[] = []
    for (let offset = 0; offset < maxRelayers; offset += page) {
      const { items } = await store.listRelayers({ offset, limit: page })
      relayers.push(...items)
      if (items.length < page) break
    }
    for (const { row_id } of relayers) old.add(row_id)
    return Map.groupBy(relayers, ({ network }) => network)
  }

  /** A relayer that could not be compared is compared when it sends. */
  async function compareAll(relayers: RelayerRow[]): Promise<void> {
    const rest = relayers.values()
    const next = async () => {
      for (const relayer of rest) await compareNow(relayer).catch(() => undefined)
    }
    await Promise.all(Array.from({ length: comparedAtOnce }, next))
  }

  async function compareNow(relayer: RelayerRow): Promise<void> {
    const client = await networkClient(relayer)
    if (client) await compareOnce(relayer, client)
  }

  function compareOnce(relayer: RelayerRow, witnesses: Witnesses): Promise<void> {
    const known = compared.get(relayer.row_id)
    if (known) return known
    const work = compare(relayer, witnesses)
    compared.set(relayer.row_id, work)
    work.catch(() => compared.delete(relayer.row_id))
    return work
  }

  async function compare(relayer: RelayerRow, witnesses: Witnesses): Promise<void> {
    const { chain_id, address, row_id } = relayer
    const answers = await askEach(witnesses.each, async (node) => {
      const [mined, pending] = await Promise.all([
        node.latestNonce(address),
        old.has(row_id) ? node.pendingNonce(address) : 0,
      ])
      return { mined, pooled: Math.max(mined, pending) }
    })
    // Read afterwards: the counter is raised before anything is sent.
    const { next_nonce } = await store.getAccount(chain_id, address)
    const mined = reachedByMost(answers.map((answer) => answer?.mined))
    if (mined === undefined) {
      const some = given(answers)
      if (some.length > 0 && some.every(({ pooled }) => pooled <= next_nonce)) return
      throw notCompared()
    }
    const pooled = reachedByMost(answers.map((answer) => answer?.pooled)) ?? mined
    const below = Math.min(pooled, mined + maxPooled)
    if (!(await note(relayer, mined, below))) return
    void searchAnew(relayer, witnesses)
    const hash = (await witnesses.each[0]?.pooledHash(address, below - 1).catch(() => undefined)) ?? null
    await noteForeign(relayer, { nonce: below - 1, hash })
  }

  /** `mined`: the account's count on chain. Resolves to whether the database does not know some of the transactions below `below`. */
  async function note(relayer: RelayerRow, mined: number, below: number): Promise<boolean> {
    const { chain_id, address, id } = relayer
    const { next_nonce, compared_count } = await store.getAccount(chain_id, address)
    // What the address of a relayer that has never sent had sent when it was first compared, it sent before there was a relayer.
    const first = compared_count ?? (next_nonce === 0 ? mined : 0)
    // After a restart of the chain, its count is lower.
    const from = Math.max(next_nonce, first > below ? 0 : first)
    if (from < below) {
      await store.noteCompared({ chain_id, address }, { from, below })
      hasSome = Promise.resolve(true)
      observer.nonceNoticed?.('unknown transactions', { relayer_id: id, from, below })
    } else if (compared_count === null && next_nonce === 0) {
      await store.noteCompared({ chain_id, address }, { from: below, below })
    }
    return from < below
  }

  /** Searches the contents, the newest first. */
  function search(account: Account, witnesses: Witnesses): Promise<void> {
    const name = nameOf(account)
    const known = searches.get(name)
    if (known && elapsed() < known.at + searchAgainMs) return known.work
    const work = searchAll(account, witnesses).catch(() => undefined)
    searches.set(name, { at: elapsed(), work })
    return work
  }

  /** There are nonces that an earlier search did not know. */
  function searchAnew({ chain_id, address }: RelayerRow, witnesses: Witnesses): Promise<void> {
    searches.delete(nameOf({ chain_id, address }))
    return search({ chain_id, address }, witnesses)
  }

  async function searchAll(account: Account, witnesses: Witnesses): Promise<void> {
    let failures = 0
    for (const nonce of await store.unfoundNonces(account, maxSearched)) {
      const found = await searchOne(account, witnesses, nonce)
      if (found) await store.findUnknown(account, { nonce, ...found })
      failures = found ? 0 : failures + 1
      if (failures >= maxFailures) return
    }
  }

  async function searchOne(account: Account, witnesses: Witnesses, nonce: number) {
    const signed = await proveSigned(witnesses, account, nonce)
    if (signed) return { hash: signed.fact.hash, ...contentOf(signed.fact.content) }
    for (const node of witnesses.each) {
      const hash = await node.pooledHash(account.address, nonce).catch(() => undefined)
      const content = hash && (await findInPool(node.rpc, account, hash).catch(() => undefined))
      if (hash && content) return { hash, ...contentOf(content) }
    }
    return undefined
  }

  async function mayHaveSome(): Promise<boolean> {
    hasSome ??= store.hasUnknown()
    hasSome.catch(() => {
      hasSome = undefined
    })
    return hasSome
  }

  return {
    async check(relayer, witnesses, payment) {
      await (await passes).get(relayer.network)
      await compareOnce(relayer, witnesses)
      if (!(await mayHaveSome())) return
      const account = { chain_id: relayer.chain_id, address: relayer.address }
      const content = contentOf(payment)
      let found = await store.possiblySent(account, content)
      if (found && found.hash === null) {
        await within(patienceMs, search({ ...account, address: found.address }, witnesses))
        found = await store.possiblySent(account, content)
      }
      if (found) throw possiblySent(relayer, found)
    },
    async beforeRaise(relayer, witnesses, { count, isShown }) {
      if (compared.get(relayer.row_id) && !isShown) return
      if (await note(relayer, count, count)) void searchAnew(relayer, witnesses)
    },
    async noteMined({ chain_id, address, id }, { fact: { nonce, hash, content } }) {
      await store.noteUnknown({ chain_id, address }, { nonce, hash, ...contentOf(content) })
      hasSome = Promise.resolve(true)
      observer.nonceNoticed?.('unknown transactions', { relayer_id: id, from: nonce, below: nonce + 1 })
    },
    noteNew: compareNow,
  }
}

const nameOf = ({ chain_id, address }: Account) => `${chain_id} ${address}`

const contentOf = ({ to, value, data }: Payment): Content => ({ to, value, data_hash: keccak256(data ?? '0x') })

const notCompared = () =>
  errorOf('unavailable', 'network', 'Too few nodes answer to compare the transactions of the account with the database')

function possiblySent(
  { address }: RelayerRow,
  { address: sender, nonce, hash }: { address: string; nonce: number; hash: string | null },
): DomainError {
  const whose = sender === address ? '' : ` of ${sender}, a relayer of the same pool,`
  const what =
    hash === null
      ? `Nonce ${nonce}${whose} is used by a transaction that this database does not know, and that no node shows`
      : `The transaction ${hash}${whose}, which this database does not know, has this receiver, value and data`
  const next =
    'Compare GET .../unknown-transactions with what you have sent, then acknowledge it by POST .../nonce/heal'
  return new DomainError('possibly_sent', [inputFault([], `${what}. ${next}`)])
}
