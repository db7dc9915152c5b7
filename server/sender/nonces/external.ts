import { keccak256 } from 'ethers/crypto'
import { askEach, given, reachedByMost, within } from '../../chain/chain.ts'
import { findInMempool, type SignedTransaction } from '../../chain/nonce-search.ts'
import { proveSigned, type Witnesses } from '../../chain/proofs.ts'
import { DomainError, errorOf, inputFault } from '../../domain/errors.ts'
import type { Proof } from '../../domain/proof.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import type { TransactionRequest } from '../../domain/transaction-request.ts'
import type { Account } from '../../domain/transaction-rows.ts'
import { BoundedMap } from '../../lib/cache.ts'
import type { Foreign } from '../../store/queries/accounts.ts'
import type { Content } from '../../store/queries/external-transactions.ts'
import type { NonceContext } from '../context.ts'

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

/** Remembers and logs a transaction of the account that this service did not send. */
export async function noteForeign(
  { store, observer }: Pick<NonceContext, 'store' | 'observer'>,
  { id, chain_id, address }: RelayerRow,
  foreign: Foreign,
): Promise<void> {
  if (await store.noteForeign({ chain_id, address }, foreign))
    observer.foreignTransaction?.({ relayer_id: id, nonce: foreign.nonce, hash: foreign.hash })
}

/**
 * Compares each account's count on chain, and in the pools of nodes, with the nonce counter before this process assigns or raises a
 * nonce. Nonces beyond the counter are used by transactions that this database does not know: it is older than another copy of it, or
 * another program uses the key. Until the operator acknowledges them, a payment with the receiver, value and data of one of them is
 * refused, and every payment while one is not found: it may have been sent already.
 */
export class ExternalTransactions {
  readonly #context: NonceContext
  /** By row id of the relayer: the comparison, which is made once. */
  readonly #compared = new BoundedMap<number, Promise<void>>(maxRemembered)
  /** Relayers that existed when this process started. What waits in pools for their addresses may be another copy's. */
  readonly #old = new Set<number>()
  readonly #searches = new BoundedMap<string, { at: number; work: Promise<void> }>(maxRemembered)
  #hasSome: Promise<boolean> | undefined
  /** By network. One whose nodes do not answer delays no other. */
  readonly #passes: Promise<Map<string, Promise<void>>>

  constructor(context: NonceContext) {
    this.#context = context
    this.#passes = this.#readRelayers().then(
      (networks) => new Map([...networks].map(([network, relayers]) => [network, this.#compareAll(relayers)])),
    )
    this.#passes.catch(() => undefined)
  }

  /** Throws DomainError: 409 for a payment that may have been sent, 503 while the nodes do not say what was sent. */
  async check(relayer: RelayerRow, witnesses: Witnesses, payment: Payment): Promise<void> {
    const { store } = this.#context
    await (await this.#passes).get(relayer.network)
    await this.#compareOnce(relayer, witnesses)
    if (!(await this.#mayHaveSome())) return
    const account = { chain_id: relayer.chain_id, address: relayer.address }
    const content = contentOf(payment)
    let found = await store.possiblySent(account, content)
    if (found && found.hash === null) {
      await within(patienceMs, this.#search({ ...account, address: found.address }, witnesses))
      found = await store.possiblySent(account, content)
    }
    if (found) throw possiblySent(relayer, found)
  }

  /**
   * Called before the counter is raised to `count`. By a signed transaction (`isShown`): what no pool showed at the comparison may be mined
   * later, and is noted and found. Otherwise the difference is noted if this process has not compared the account yet.
   */
  async beforeRaise(
    relayer: RelayerRow,
    witnesses: Witnesses,
    { count, isShown }: { count: number; isShown: boolean },
  ): Promise<void> {
    if (this.#compared.get(relayer.row_id) && !isShown) return
    if (await this.#note(relayer, count, count)) void this.#searchAnew(relayer, witnesses)
  }

  /** Somebody else's transaction was mined at a nonce that this database had assigned. */
  async noteMined(
    { chain_id, address, id }: RelayerRow,
    { fact: { nonce, hash, content } }: Proof<SignedTransaction>,
  ): Promise<void> {
    const { store, observer } = this.#context
    await store.noteExternal({ chain_id, address }, { nonce, hash, ...contentOf(content) })
    this.#hasSome = Promise.resolve(true)
    observer.nonceNoticed?.('external transactions', { relayer_id: id, from: nonce, below: nonce + 1 })
  }

  /** Compares a relayer now. A new one: what its address has sent until now is no other copy's. */
  async compare(relayer: RelayerRow): Promise<void> {
    const client = await this.#context.networkClient(relayer)
    if (client) await this.#compareOnce(relayer, client)
  }

  async #readRelayers(): Promise<Map<string, RelayerRow[]>> {
    const relayers: RelayerRow[] = []
    for (let offset = 0; offset < maxRelayers; offset += page) {
      const { items } = await this.#context.store.listRelayers({ offset, limit: page })
      relayers.push(...items)
      if (items.length < page) break
    }
    for (const { row_id } of relayers) this.#old.add(row_id)
    return Map.groupBy(relayers, ({ network }) => network)
  }

  /** A relayer that could not be compared is compared when it sends. */
  async #compareAll(relayers: RelayerRow[]): Promise<void> {
    const rest = relayers.values()
    const next = async () => {
      for (const relayer of rest) await this.compare(relayer).catch(() => undefined)
    }
    await Promise.all(Array.from({ length: comparedAtOnce }, next))
  }

  #compareOnce(relayer: RelayerRow, witnesses: Witnesses): Promise<void> {
    const known = this.#compared.get(relayer.row_id)
    if (known) return known
    const work = this.#compareNow(relayer, witnesses)
    this.#compared.set(relayer.row_id, work)
    work.catch(() => this.#compared.delete(relayer.row_id))
    return work
  }

  async #compareNow(relayer: RelayerRow, witnesses: Witnesses): Promise<void> {
    const { chain_id, address, row_id } = relayer
    const answers = await askEach(witnesses.each, async (node) => {
      const [mined, pending] = await Promise.all([
        node.latestNonce(address),
        this.#old.has(row_id) ? node.pendingNonce(address) : 0,
      ])
      return { mined, pooled: Math.max(mined, pending) }
    })
    // Read afterwards: the counter is raised before anything is sent.
    const { next_nonce } = await this.#context.store.getAccount(chain_id, address)
    const mined = reachedByMost(answers.map((answer) => answer?.mined))
    if (mined === undefined) {
      const some = given(answers)
      if (some.length > 0 && some.every(({ pooled }) => pooled <= next_nonce)) return
      throw notCompared()
    }
    const pooled = reachedByMost(answers.map((answer) => answer?.pooled)) ?? mined
    const below = Math.min(pooled, mined + maxPooled)
    if (!(await this.#note(relayer, mined, below))) return
    void this.#searchAnew(relayer, witnesses)
    const hash = (await witnesses.each[0]?.pooledHash(address, below - 1).catch(() => undefined)) ?? null
    await noteForeign(this.#context, relayer, { nonce: below - 1, hash })
  }

  /** `mined`: the account's count on chain. Resolves to whether the database does not know some of the transactions below `below`. */
  async #note(relayer: RelayerRow, mined: number, below: number): Promise<boolean> {
    const { store, observer } = this.#context
    const { chain_id, address, id } = relayer
    const { next_nonce, compared_count } = await store.getAccount(chain_id, address)
    // What the address of a relayer that has never sent had sent when it was first compared, it sent before there was a relayer.
    const first = compared_count ?? (next_nonce === 0 ? mined : 0)
    // After a restart of the chain, its count is lower.
    const from = Math.max(next_nonce, first > below ? 0 : first)
    if (from < below) {
      await store.noteCompared({ chain_id, address }, { from, below })
      this.#hasSome = Promise.resolve(true)
      observer.nonceNoticed?.('external transactions', { relayer_id: id, from, below })
    } else if (compared_count === null && next_nonce === 0) {
      await store.noteCompared({ chain_id, address }, { from: below, below })
    }
    return from < below
  }

  /** Searches the contents, the newest first. */
  #search(account: Account, witnesses: Witnesses): Promise<void> {
    const { elapsed } = this.#context
    const name = nameOf(account)
    const known = this.#searches.get(name)
    if (known && elapsed() < known.at + searchAgainMs) return known.work
    const work = this.#searchAll(account, witnesses).catch(() => undefined)
    this.#searches.set(name, { at: elapsed(), work })
    return work
  }

  /** There are nonces that an earlier search did not know. */
  #searchAnew({ chain_id, address }: RelayerRow, witnesses: Witnesses): Promise<void> {
    this.#searches.delete(nameOf({ chain_id, address }))
    return this.#search({ chain_id, address }, witnesses)
  }

  async #searchAll(account: Account, witnesses: Witnesses): Promise<void> {
    const { store } = this.#context
    let failures = 0
    for (const nonce of await store.unfoundNonces(account, maxSearched)) {
      const found = await this.#searchOne(account, witnesses, nonce)
      if (found) await store.setExternalContent(account, { nonce, ...found })
      failures = found ? 0 : failures + 1
      if (failures >= maxFailures) return
    }
  }

  async #searchOne(account: Account, witnesses: Witnesses, nonce: number) {
    const signed = await proveSigned(witnesses, account, nonce)
    if (signed) return { hash: signed.fact.hash, ...contentOf(signed.fact.content) }
    for (const node of witnesses.each) {
      const hash = await node.pooledHash(account.address, nonce).catch(() => undefined)
      const content = hash && (await findInMempool(node.rpc, account, hash).catch(() => undefined))
      if (hash && content) return { hash, ...contentOf(content) }
    }
    return undefined
  }

  async #mayHaveSome(): Promise<boolean> {
    this.#hasSome ??= this.#context.store.hasExternal()
    this.#hasSome.catch(() => {
      this.#hasSome = undefined
    })
    return this.#hasSome
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
    'Compare GET .../external-transactions with what you have sent, then POST .../external-transactions/acknowledge'
  return new DomainError('possibly_sent', [inputFault([], `${what}. ${next}`)])
}
