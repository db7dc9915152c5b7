import { minWitnesses, proveCount, proveGenesis, type Witnesses } from '../../chain/proofs.ts'
import { conflict, errorOf } from '../../domain/errors.ts'
import type { PendingAuditEntry, RelayerRow } from '../../domain/rows.ts'
import { BoundedMap } from '../../lib/cache.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import type { NetworkClient, NonceContext, SenderContext } from '../context.ts'
import { ChainIdentity, Counts, explainRestart, identifyChain, needed } from './counts.ts'
import { ExternalTransactions } from './external.ts'
import { NonceUsers } from './find-nonce-user.ts'

const maxRemembered = 10_000

interface NonceState {
  next_nonce: number
  chain_latest_nonce: number | null
  gaps: number[]
  status: 'in_step' | 'chain_ahead' | 'gap' | 'chain_restarted' | 'unreachable'
  summary: string
  last_external_transaction: { nonce: number; hash: string | null; noticed_at: string } | null
}

type Asked = Witnesses & { chain: Pick<NetworkClient['chain'], 'latestNonce'> }

/** The way into this folder: keeps the nonce counter and the chain in agreement. The answer of a single node changes nothing. */
export class Nonces {
  readonly external: ExternalTransactions
  readonly identity: ChainIdentity
  readonly counts: Counts
  readonly gaps: Gaps
  readonly users: NonceUsers
  readonly #context: NonceContext
  /** By relayer: the highest count at which the chain was the former one. A lower count, or a change of the account, is looked at anew. */
  readonly #sameAt = new BoundedMap<number, { latest: number; genesis_hash: string | null }>(maxRemembered)

  constructor(context: NonceContext) {
    this.#context = context
    this.external = new ExternalTransactions(context)
    this.identity = new ChainIdentity(context)
    this.counts = new Counts(context, this.identity, this.external)
    this.gaps = new Gaps(context, this.counts)
    this.users = new NonceUsers(context, this.counts, this.external)
  }

  /** Called before a nonce is assigned: when the chain is ahead, follows it on evidence. False: the relayer is disabled. */
  async mayAssign(relayer: RelayerRow, witnesses: Witnesses, latest: number): Promise<boolean> {
    const { store } = this.#context
    const { next_nonce, genesis_hash } = await store.getAccount(relayer.chain_id, relayer.address)
    if (latest > next_nonce) {
      const believed = await this.counts.believe(relayer, witnesses, latest)
      // While the count is uncertain the transaction is accepted and waits unsigned.
      if (believed === undefined) return (await store.getRelayerByRowId(relayer.row_id))?.system_disabled === false
      return (await this.identity.follow(relayer, witnesses, believed)) !== 'disabled'
    }
    const before = this.#sameAt.get(relayer.row_id)
    const isKnown = before !== undefined && latest >= before.latest && genesis_hash === before.genesis_hash
    if (!isKnown || !this.identity.isRecognized(relayer, witnesses) || relayer.system_disabled) {
      this.#sameAt.delete(relayer.row_id)
      const followed = await this.identity.follow(relayer, witnesses, latest)
      if (followed !== 'same_chain') return followed !== 'disabled'
    }
    this.#sameAt.set(relayer.row_id, { latest, genesis_hash })
    return true
  }

  /**
   * On request: asks every endpoint, accepts the count of most of at least two or the operator's own (`stated`), and closes gaps.
   * Throws DomainError (409) when the count stays uncertain, and for an implausible number.
   */
  async reconcile(relayer: RelayerRow, witnesses: Asked, stated?: number): Promise<void> {
    // Not from the shared poll, which asks for a count only twice per block.
    const latest = await witnesses.chain.latestNonce(relayer.address)
    const { next_nonce } = await this.#context.store.getAccount(relayer.chain_id, relayer.address)
    if (stated !== undefined && stated < next_nonce)
      throw conflict('invalid_state', ['next_nonce'], explainAssigned(next_nonce))
    if (stated !== undefined && stated > latest)
      throw conflict('invalid_state', ['next_nonce'], explainBehind(latest, stated))
    const believed = await this.counts.believe(relayer, witnesses, latest, { stated })
    if (believed === undefined) throw errorOf('invalid_state', 'next_nonce', explainUncertain(latest, next_nonce))
    if ((await this.identity.follow(relayer, witnesses, believed)) !== 'same_chain') return
    const counted = await proveCount(witnesses, relayer.address)
    const known = stated ?? (witnesses.each.length >= minWitnesses ? counted?.fact.at_least : undefined)
    if (counted && known !== undefined) {
      await this.users.renumberUnsigned(relayer, counted, Math.min(known, believed))
    }
    await this.gaps.close(relayer, witnesses, believed, true)
  }

  async state(
    relayer: RelayerRow,
    witnesses: Witnesses,
    latest: number | undefined,
    pending: number | undefined,
  ): Promise<NonceState> {
    const { store } = this.#context
    const { next_nonce, foreign } = await store.getAccount(relayer.chain_id, relayer.address)
    const isKnown = foreign === null || foreign.is_acknowledged
    const base = {
      ...{ next_nonce, chain_latest_nonce: latest ?? null, gaps: [] as number[] },
      last_external_transaction: isKnown
        ? null
        : { nonce: foreign.nonce, hash: foreign.hash, noticed_at: foreign.noticed_at },
    }
    const why = (summary: string) => relayer.disabled_reason ?? summary
    if (latest === undefined) {
      const summary = why('No node of the network answers. Accepted transactions wait.')
      return { ...base, status: 'unreachable', summary }
    }
    // The sender does not look at the chain of an account without unfinished transactions, and so notices no restart.
    if (relayer.system_disabled || (await store.hasMinedFrom(relayer.chain_id, relayer.address, latest))) {
      if ((await identifyChain(this.#context, relayer, witnesses, latest))?.isSame === false) {
        return { ...base, status: 'chain_restarted', summary: why(explainRestart(next_nonce, latest)) }
      }
    }
    if (latest > next_nonce) return { ...base, status: 'chain_ahead', summary: why(explainAhead(latest)) }
    if (pending !== undefined && pending > next_nonce) {
      return { ...base, status: 'chain_ahead', summary: explainPooled(next_nonce, pending) }
    }
    const open = await this.gaps.of(relayer, latest)
    if (open.length > 0) return { ...base, gaps: open, status: 'gap', summary: gap }
    const waiting = next_nonce - latest
    const summary =
      waiting === 0
        ? 'The service and the chain have the same next nonce.'
        : `${waiting} accepted transactions are not mined yet.`
    return { ...base, status: 'in_step', summary: why(summary) }
  }
}

const gap =
  'No transaction holds these nonces. Unsigned transactions move to lower nonces, and the counter is lowered. Gaps below a signed ' +
  'nonce are filled by zero-value transfers, up to the policy max_gap_fills_per_hour.'

const explainAhead = (latest: number): string =>
  `A node says that nonces up to ${latest - 1} are used. The counter is raised by a signed transaction that proves this, by a ` +
  `majority of at least two endpoints over 3 blocks, or when ${needed}.`

const explainPooled = (nextNonce: number, pending: number): string =>
  `A node has transactions of this account with nonces ${nextNonce} to ${pending - 1} that this service did not send: another ` +
  'program uses the key, or this database is older than another copy of it. They are not replaced; new transactions wait for them.'

const explainAssigned = (nextNonce: number): string =>
  `This service has assigned all nonces below ${nextNonce}, so next_nonce must not be below that. Nonces that no transaction ` +
  'holds are given back without it'

const explainBehind = (latest: number, stated: number): string =>
  `The nodes count ${latest} transactions of this account, fewer than next_nonce (${stated}). Check the number, or wait until the ` +
  'nodes have all blocks'

const explainUncertain = (latest: number, nextNonce: number): string =>
  `A node counts ${latest} transactions of this account, this service has assigned ${nextNonce} nonces, and no signed ` +
  `transaction proves the difference. The counter is raised when ${needed}`

const maxGaps = 100
const maxHolders = 2_000
const defaultFillsPerHour = 10

type Abandoned = Awaited<ReturnType<SenderContext['store']['abandoned']>>[number]

/** Nonces that no transaction holds. */
class Gaps {
  readonly #context: NonceContext
  readonly #counts: Counts
  /** By relayer: the last log line. */
  readonly #logged = new BoundedMap<number, string>(maxRemembered)

  constructor(context: NonceContext, counts: Counts) {
    this.#context = context
    this.#counts = counts
  }

  /** The gaps: nonces from the chain's count to the nonce counter that no transaction holds; at most 100. */
  async of({ chain_id, address }: Pick<RelayerRow, 'chain_id' | 'address'>, latest: number) {
    const { store } = this.#context
    const { next_nonce } = await store.getAccount(chain_id, address)
    // A gap beyond this range is found when the transactions before it are mined.
    const to = Math.min(next_nonce, latest + maxHolders)
    const held = new Set(
      (await store.holders({ chain_id, address }, { from: latest, to }, maxHolders)).map(({ nonce }) => nonce),
    )
    // A nonce that was returned meanwhile is not a gap: the next transaction gets it.
    const end = Math.min(to, (await store.getAccount(chain_id, address)).next_nonce)
    const gaps: number[] = []
    for (let nonce = latest; nonce < end && gaps.length < maxGaps; nonce += 1) if (!held.has(nonce)) gaps.push(nonce)
    return gaps
  }

  /**
   * Closes gaps when a majority of the endpoints confirms the account's count and has the highest block that was seen. Unsigned
   * transactions move to lower nonces and the counter is lowered. A gap below a signed nonce is filled by a zero-value transfer to the
   * account itself, within the policy `max_gap_fills_per_hour`. `isRequested`: an operator asks for it, also on a chain that was set back.
   * Resolves to the number of gaps that stay open.
   */
  async close(relayer: RelayerRow, witnesses: Witnesses, latest: number, isRequested = false): Promise<number> {
    const { store, observer } = this.#context
    const { chain_id, address } = relayer
    const found = await this.of(relayer, latest)
    const left = await store.abandoned(chain_id, address, latest)
    const open = found.length + left.length
    if (open === 0) return 0
    const counted = await proveCount(witnesses, address)
    if (!counted || (!isRequested && this.#counts.isBehind(chain_id, counted.fact.head))) return open
    const { at_most, head } = counted.fact
    const from = Math.max(at_most, await this.#counts.usedBelow(relayer, witnesses, { head, isRequested }))
    const { next_nonce: before } = await store.getAccount(chain_id, address)
    const { moved, gaps } = await store.compactNonces(chain_id, address, from)
    const { next_nonce } = await store.getAccount(chain_id, address)
    if (next_nonce < before || moved > 0) {
      observer.nonceNoticed?.('nonce counter lowered', {
        relayer_id: relayer.id,
        from: before,
        to: next_nonce,
        moved,
      })
    }
    const abandoned = await store.abandoned(chain_id, address, from)
    const filled = (await this.#withdraw(relayer, abandoned)) + (await this.#fill(relayer, gaps))
    // What is used by the proof that holds now may be free later.
    const doubted = found.filter((nonce) => nonce < from).length + Math.max(0, left.length - abandoned.length)
    return doubted + gaps.length + abandoned.length - filled
  }

  /**
   * Reopens transactions that failed because nodes reported their nonces as used, when the nonces are free after all: a zero-value
   * transfer uses each nonce. Resolves to the number of reopened transactions.
   */
  async #withdraw(relayer: RelayerRow, abandoned: Abandoned[]): Promise<number> {
    const { store, observer } = this.#context
    const chosen = abandoned.slice(0, await this.#takeFills(relayer, abandoned.length))
    if (chosen.length === 0) return 0
    observer.nonceNoticed?.('abandoned nonces filled', { relayer_id: relayer.id, count: chosen.length })
    await store.move(
      chosen.map(({ row_id, revision, reason }) => ({
        row_id,
        revision,
        set: {
          ...{ status: 'submitted', intent: 'fail', fee_ceiling: null, tip_ceiling: null },
          ...{ resign: true, status_reason: reason, reprice_at: 0 },
        },
      })),
    )
    return chosen.length
  }

  /** Resolves to the number of filled gaps. */
  async #fill(relayer: RelayerRow, gaps: number[]): Promise<number> {
    const { store, makeId, observer } = this.#context
    if (gaps.length === 0) return 0
    const nonces = gaps.slice(0, await this.#takeFills(relayer, gaps.length))
    const event = nonces.length === 0 ? 'nonce gaps left: the limit per hour is reached' : 'nonce gaps filled'
    const line = `${event} ${gaps}`
    if (this.#logged.get(relayer.row_id) !== line) {
      observer.nonceNoticed?.(event, {
        relayer_id: relayer.id,
        gaps,
        nonces,
        max_gap_fills_per_hour: allowedFor(relayer),
      })
    }
    for (const nonce of nonces) await store.createTransaction(fillerOf(relayer, makeId(), nonce))
    this.#logged.set(relayer.row_id, line)
    return nonces.length
  }

  /** Counts one more nonce that is filled. False: the policy `max_gap_fills_per_hour` allows no more. */
  async takeFill(relayer: RelayerRow): Promise<boolean> {
    return (await this.#takeFills(relayer, 1)) === 1
  }

  /** Counts nonces that are about to be filled. Resolves to how many the policy allows now. */
  async #takeFills(relayer: RelayerRow, wanted: number): Promise<number> {
    return wanted === 0 ? 0 : this.#context.store.takeGapFills(relayer, wanted, allowedFor(relayer))
  }
}

const allowedFor = ({ policies }: RelayerRow): number => policies.max_gap_fills_per_hour ?? defaultFillsPerHour

const fillerOf = ({ row_id, id, network, chain_id, address, policies }: RelayerRow, madeId: string, nonce: number) => ({
  id: madeId,
  relayer_row_id: row_id,
  network,
  relayer_id: id,
  chain_id,
  from: address,
  to: address,
  value: '0',
  data: null,
  gas_limit: null,
  gas_price: null,
  max_fee_per_gas: null,
  max_priority_fee_per_gas: null,
  speed: null,
  valid_until: null,
  intent: 'cancel' as const,
  type: policies.eip1559_pricing === false ? (0 as const) : (2 as const),
  status_reason: 'Fills a nonce gap',
  nonce,
})

/** The chain ids of hardhat and anvil, and of geth's and ganache's development modes. */
const developmentChainIds: ReadonlySet<number> = new Set([1_337, 31_337])
/** Rows per database transaction: about 10 ms. */
const rowsPerBatch = 100
const reason = 'The chain was restarted: this transaction is no longer on any chain'
const disabledReason =
  'The chain was restarted, and the nonces of the former chain are being deleted: repeat the request'

type RestartNetwork = Pick<NetworkClient, 'network' | 'each' | 'endpoints'> & {
  chain: Pick<NetworkClient['chain'], 'latestNonce'>
}

/**
 * Resets a relayer's account after a test chain was restarted. Unfinished transactions fail, transactions of the former chain lose
 * their nonces, and the nonce counter starts from the account's count on the new chain. If the reset is interrupted, the relayer
 * stays disabled and the same request completes it. Throws DomainError (409) for a network that is not a test network, and when the
 * chain is still the one that the nonces were used on.
 */
export async function restartChain(
  { store }: Pick<SenderContext, 'store'>,
  relayer: RelayerRow,
  client: RestartNetwork,
  auditEntry: PendingAuditEntry,
): Promise<void> {
  const { chain, network } = client
  const { id, chain_id, address } = relayer
  const isDevelopment = developmentChainIds.has(chain_id)
  if (!network.is_testnet && !isDevelopment) {
    throw conflict('invalid_state', ['chain_restarted'], 'The network is not a test network: is_testnet must be true')
  }
  const [genesis, latest] = await Promise.all([proveGenesis(client), chain.latestNonce(address)])
  const isOther = (await identifyChain({ store }, relayer, client, latest))?.isSame === false
  // A restarted development chain may have the same genesis block; then its lower transaction count shows the restart.
  const isSetBack = isDevelopment && (await store.hasMinedFrom(chain_id, address, latest))
  if (genesis === undefined || !(isOther || isSetBack)) {
    throw conflict(
      'invalid_state',
      ['chain_restarted'],
      'The chain was not restarted: it is the one that the nonces of this relayer were used on',
    )
  }

  await store.updateRelayer(id, (current) => ({ ...current, system_disabled: true, disabled_reason: disabledReason }))
  const account = { chain_id, address }
  do {
    while ((await store.forgetNonces(account, { reason, proof: genesis }, rowsPerBatch)) > 0) await yieldToEventLoop()
  } while (
    !(await store.restartAccount(account, { genesis_hash: genesis.fact.genesis_hash, next_nonce: latest }, auditEntry))
  )
  await store.updateRelayer(id, (current) => ({ ...current, system_disabled: false, disabled_reason: null }))
}
