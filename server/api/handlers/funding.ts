import type { FundingSettings, FundingState, PoolFundingState } from '../../../generated/openapi.ts'
import { within } from '../../chain/chain.ts'
import { badRequest, conflict, type Field, relayerNotFound, unknownReference } from '../../domain/errors.ts'
import { type AppliedFunding, asCoin, refillsOf } from '../../domain/funding.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import { deleted, type Handlers } from '../../domain/operation.ts'
import { fundingRevision } from '../../domain/revision.ts'
import type { Funding, PoolRow, RelayerRow } from '../../domain/rows.ts'
import { readAddress, readAmount } from '../../domain/values.ts'
import type { ServicesContext } from '../../services/context.ts'
import { balanceOf } from '../../services/funding/balance.ts'
import { sweep } from '../../services/funding/sweep.ts'
import { findPool } from '../../services/pools.ts'
import type { Refill } from '../../store/queries/treasuries.ts'
import { ApiError, conflictAt } from '../http/errors.ts'

type Operations = Pick<
  Handlers,
  | 'getFunding'
  | 'setFunding'
  | 'deleteFunding'
  | 'getPoolFunding'
  | 'setPoolFunding'
  | 'deletePoolFunding'
  | 'sweepRelayer'
>

/** The time limit for the answer of a node. */
const patienceMs = 2_000
const dayS = 24 * 3_600

export function funding(context: ServicesContext): Operations {
  const { store, keyring, chains, now } = context

  /** What counts for the daily limit now. */
  async function spentOf(chainId: number, { from, max_per_day }: Funding, asset: string) {
    const treasury = await store.getRelayer(from)
    const account = treasury && { chain_id: chainId, address: treasury.address }
    const spent = account ? BigInt(await store.spentPerDay(account, asset)) : 0n
    const left = BigInt(max_per_day) - spent
    return { spent_today: `${spent}`, left_today: `${left > 0n ? left : 0n}` }
  }

  async function poolStateOf(pool: PoolRow, given: Funding): Promise<PoolFundingState> {
    const its = asCoin(given, pool.coin_token)
    const notes = await store.fundingNotes()
    const relayers: PoolFundingState['relayers'] = []
    let chainId = 0
    for (const { relayer_id } of pool.relayers) {
      const relayer = await keyring.findRelayer(relayer_id)
      chainId = relayer.chain_id
      if ((await store.fundingOf(relayer))?.pool?.row_id !== pool.row_id) continue
      const { state, reason, since } = notes.get(relayer.row_id) ?? unexamined
      relayers.push({ relayer_id, state, reason, since })
    }
    return {
      funding: its,
      ...(await spentOf(chainId, its, refillsOf(0, pool))),
      relayers,
      revision: fundingRevision(given),
    }
  }

  async function stateOf(
    nodes: NodeAccess,
    relayer: RelayerRow,
    { funding: its, pool }: AppliedFunding,
  ): Promise<FundingState> {
    const { row_id, address, chain_id } = relayer
    const [spent, client, notes, refills, fees] = await Promise.all([
      spentOf(chain_id, its, refillsOf(row_id, pool)),
      chains.clientFor(nodes, relayer),
      store.fundingNotes(),
      store.refills(row_id),
      store.feesSince(row_id, Math.floor(now() / 1_000) - dayS),
    ])
    const balance = client && (await within(patienceMs, balanceOf(client.callers, its.asset, address)))
    const { state, reason, since } = notes.get(row_id) ?? unexamined
    return {
      funding: its,
      pool_id: pool?.id ?? null,
      ...{ state, reason, since },
      balance: balance === undefined ? null : `${balance}`,
      ...spent,
      runway_seconds:
        balance === undefined || its.asset !== null || fees === 0n ? null : Number((balance * BigInt(dayS)) / fees),
      refills: refills.map(show),
      revision: fundingRevision(relayer.funding),
    }
  }

  return {
    async getFunding({ path, nodes }) {
      const relayer = await keyring.findRelayer(path.relayer_id)
      const applied = await store.fundingOf(relayer)
      if (!applied) throw none('relayer')
      return stateOf(nodes, relayer, applied)
    },

    async setFunding({ path, body, auditEntry, ifMatch, nodes }) {
      const its = readFunding(body)
      const outcome = await store.setFunding(path.relayer_id, its, { auditEntry, ifMatch })
      if (outcome === 'missing') throw relayerNotFound(path.relayer_id)
      if (outcome === 'unknown_treasury') throw unknownTreasury()
      if (outcome === 'circle') throw fundingCircle(['from'])
      context.fund(outcome.row_id)
      return stateOf(nodes, outcome, { funding: asCoin(its, outcome.coin_token), pool: null })
    },

    async deleteFunding({ path, auditEntry, ifMatch }) {
      const before = await store.getRelayer(path.relayer_id)
      if (before && !before.funding) throw none('relayer')
      const outcome = await store.setFunding(path.relayer_id, null, { auditEntry, ifMatch })
      if (outcome === 'missing') throw relayerNotFound(path.relayer_id)
      if (outcome === 'circle') throw fundingCircle('/path/relayer_id')
      return deleted(path.relayer_id)
    },

    async getPoolFunding({ path, caller }) {
      const pool = await findPool(context, path.pool_id, caller)
      if (!pool.funding) throw none('pool')
      return poolStateOf(pool, pool.funding)
    },

    async setPoolFunding({ path, body, auditEntry, ifMatch }) {
      const its = readFunding(body)
      const outcome = await store.setPoolFunding(path.pool_id, its, { auditEntry, ifMatch })
      if (outcome === 'missing') return undefined
      if (outcome === 'unknown_treasury') throw unknownTreasury()
      if (outcome === 'circle') throw fundingCircle(['from'])
      for (const { relayer_id } of outcome.relayers) context.fund((await keyring.findRelayer(relayer_id)).row_id)
      return poolStateOf(outcome, its)
    },

    async deletePoolFunding({ path, caller, auditEntry, ifMatch }) {
      const pool = await findPool(context, path.pool_id, caller)
      if (!pool.funding) throw none('pool')
      const outcome = await store.setPoolFunding(path.pool_id, null, { auditEntry, ifMatch })
      if (outcome === 'missing') return undefined
      if (outcome === 'circle') throw fundingCircle('/path/pool_id')
      return deleted(path.pool_id)
    },

    async sweepRelayer({ path, body, idempotency, auditEntry, authorize, nodes }) {
      const asker = { idempotency, auditEntry, nodes, authorize: () => authorize('sweepRelayer') }
      return sweep(context, asker, path.relayer_id, body)
    },
  }
}

const show = ({ transaction_id, treasury_id: from, amount, is_open, created_at }: Refill) => ({
  transaction_id,
  from,
  amount,
  is_open,
  created_at,
})

const unexamined = { state: 'unknown', reason: null, since: null } as const

/** Throws DomainError (400). */
function readFunding(body: FundingSettings): Funding {
  const its: Funding = {
    from: body.from,
    asset: body.asset === undefined ? null : readAddress(body.asset, ['asset']),
    min_balance: readAmount(body.min_balance, ['min_balance']),
    target_balance: readAmount(body.target_balance, ['target_balance']),
    max_per_day: readAmount(body.max_per_day, ['max_per_day']),
    max_fee_per_gas: readAmount(body.max_fee_per_gas, ['max_fee_per_gas']),
  }
  if (BigInt(its.target_balance) <= BigInt(its.min_balance)) {
    throw badRequest(['target_balance'], 'must be above min_balance')
  }
  return its
}

/** The ApiError (409) for a change after which a relayer would get its funds from itself. */
export const fundingCircle = (at: Field | `/path/${string}`) =>
  typeof at === 'string' ? conflictAt('invalid_state', at, circle) : conflict('invalid_state', at, circle)
const circle =
  'a relayer would get its funds from itself: by its own funding, or by the first funded pool that it is in'

const unknownTreasury = () => unknownReference(['from'], 'no relayer on the same chain has this ID')
const none = (of: 'relayer' | 'pool') =>
  new ApiError('not_found', 'Not Found', [{ path: `/path/${of}_id`, message: `the ${of} has no funding` }])
