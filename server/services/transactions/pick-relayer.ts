import { type DomainError, errorOf, poolIsEmpty } from '../../domain/errors.ts'
import type { PoolRow, RelayerRow } from '../../domain/rows.ts'
import type { Keyring } from '../../keys/keyring.ts'
import type { Store } from '../../store/store.ts'

export interface OrderContext {
  store: Store
  keyring: Pick<Keyring, 'findRelayer'>
  loads: PoolLoads
}

export interface Member {
  relayer: RelayerRow
  weight: number
}

export interface Order {
  /** The preferred first; at least one. */
  members: Member[]
  /** The request has its answer. */
  done(): void
}

/** The members in the order in which they are asked: those that need help with their own transactions come last. */
export async function membersInOrder(
  { store, keyring, loads }: OrderContext,
  pool: PoolRow,
  orderingKey: string | null,
): Promise<Order> {
  const pinned = orderingKey === null ? undefined : await store.pinnedRelayer(pool.row_id, orderingKey)
  if (pinned !== undefined) {
    // The caller's rights are those to the relayers that the pool has now.
    if (!pool.relayers.some(({ relayer_id }) => relayer_id === pinned)) throw hasLeft()
    return { members: [{ relayer: await keyring.findRelayer(pinned), weight: 1 }], done() {} }
  }
  const members = await Promise.all(
    pool.relayers
      .filter(({ weight }) => weight > 0)
      .map(async ({ relayer_id, weight }) => ({ relayer: await keyring.findRelayer(relayer_id), weight })),
  )
  await loads.refresh(members.map(({ relayer }) => relayer.row_id))
  const ranked = members.map((member) => {
    const { paused, system_disabled, policies, row_id } = member.relayer
    const load = loads.of(row_id)
    const needsHelp = paused || system_disabled || policies.allow_transactions === false || load.is_waiting
    return { member, rank: needsHelp ? 1 : 0, share: load.unfinished / member.weight, chosen: load.chosen }
  })
  ranked.sort((a, b) => a.rank - b.rank || a.share - b.share || a.chosen - b.chosen)
  const [first] = ranked
  if (!first) throw poolIsEmpty()
  // Before any other request looks at the loads.
  return { members: ranked.map((its) => its.member), done: loads.ask(first.member.relayer.row_id) }
}

const poolUnavailable = (message: string): DomainError => errorOf('unavailable', 'pool', message)
export const noRelayer = (): DomainError =>
  poolUnavailable('No relayer of the pool can take the transaction now; repeat the request')
const hasLeft = () =>
  poolUnavailable(
    'A relayer that has left the pool has unfinished transactions with this ordering key; repeat the request',
  )

/** What a relayer has to do. It orders the relayers of a pool only: the commit reads the numbers again. */
interface PoolLoad {
  unfinished: number
  /** Its first unfinished transaction waits for something. */
  is_waiting: boolean
  /** Grows with each choice: the one that was idle the longest has the lowest. */
  chosen: number
}

/** How long a number from the store is used, with this process's own choices added. */
const maxAgeMs = 250

export class PoolLoads {
  readonly #store: Pick<Store, 'loadsOf'>
  readonly #asked = new Map<number, number>()
  readonly #chosen = new Map<number, number>()
  #loads = new Map<number, Omit<PoolLoad, 'chosen'>>()
  #readAt = Number.NEGATIVE_INFINITY
  #choices = 0

  constructor(store: Pick<Store, 'loadsOf'>) {
    this.#store = store
  }

  /** Reads the numbers of these relayers if they are old. */
  async refresh(relayerRowIds: number[]): Promise<void> {
    const isOld = performance.now() - this.#readAt > maxAgeMs
    if (!isOld && relayerRowIds.every((rowId) => this.#loads.has(rowId))) return
    const read = await this.#store.loadsOf([...new Set([...(isOld ? [] : this.#loads.keys()), ...relayerRowIds])])
    this.#loads = new Map(read.map(({ relayer_row_id, ...load }) => [relayer_row_id, load]))
    this.#readAt = performance.now()
  }

  of(rowId: number): PoolLoad {
    const { unfinished, is_waiting } = this.#loads.get(rowId) ?? { unfinished: 0, is_waiting: false }
    return { unfinished: unfinished + (this.#asked.get(rowId) ?? 0), is_waiting, chosen: this.#chosen.get(rowId) ?? 0 }
  }

  /** A request asks this relayer first; it counts as chosen until the returned function is called. */
  ask(rowId: number): () => void {
    this.#asked.set(rowId, (this.#asked.get(rowId) ?? 0) + 1)
    return () => {
      const left = (this.#asked.get(rowId) ?? 1) - 1
      if (left === 0) this.#asked.delete(rowId)
      else this.#asked.set(rowId, left)
    }
  }

  /** Transactions were accepted for this relayer. */
  chose(rowId: number, count = 1): void {
    const load = this.#loads.get(rowId)
    if (load) load.unfinished += count
    this.#choices += 1
    this.#chosen.set(rowId, this.#choices)
  }
}
