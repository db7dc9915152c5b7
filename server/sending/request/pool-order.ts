import { ApiError } from '../../core/errors.ts'
import type { PoolRow, RelayerRow } from '../../core/rows.ts'
import type { SendingDependencies } from '../dependencies.ts'
import { createPoolLoads } from './pool-loads.ts'

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

export type PoolOrder = ReturnType<typeof createPoolOrder>

/** The order in which the relayers of pools are asked. */
export function createPoolOrder({ store, findRelayer }: Pick<SendingDependencies, 'store' | 'findRelayer'>) {
  const loads = createPoolLoads(store)

  /** The members in the order in which they are asked: those that need help with their own transactions come last. */
  async function inOrder(pool: PoolRow, ordering_key: string | null): Promise<Order> {
    const pinned = ordering_key === null ? undefined : await store.pinnedRelayer(pool.row_id, ordering_key)
    if (pinned !== undefined) {
      // The caller's rights are those to the relayers that the pool has now.
      if (!pool.relayers.some(({ relayer_id }) => relayer_id === pinned)) throw hasLeft()
      return { members: [{ relayer: await findRelayer(pinned), weight: 1 }], done() {} }
    }
    const members = await Promise.all(
      pool.relayers
        .filter(({ weight }) => weight > 0)
        .map(async ({ relayer_id, weight }) => ({ relayer: await findRelayer(relayer_id), weight })),
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
    if (!first) throw noRelayer()
    // Before any other request looks at the loads.
    return { members: ranked.map((its) => its.member), done: loads.ask(first.member.relayer.row_id) }
  }

  return { inOrder, chose: loads.chose }
}

export const unavailable = (message: string): ApiError =>
  new ApiError('unavailable', 'Service Unavailable', [{ path: 'pool', message }])
export const noRelayer = (): ApiError =>
  unavailable('No relayer of the pool can take the transaction now; repeat the request')
const hasLeft = () =>
  unavailable('A relayer that has left the pool has unfinished transactions with this ordering key; repeat the request')
