import type { AmountUsage, FundingState, PoolFundingState, ReplaceFundingRequest } from '../../../generated/openapi.ts'
import { within } from '../../chain/chain.ts'
import { badRequest, conflict, namedError, relayerNotFound, unknownReference } from '../../domain/errors.ts'
import { type AppliedFunding, asCoin, refillsOf } from '../../domain/funding.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import { fundingRevision } from '../../domain/revision.ts'
import type { Conditions, Funding, PoolRow, RelayerRow } from '../../domain/rows.ts'
import { readAmount, readAsset } from '../../domain/values.ts'
import type { Refill } from '../../store/queries/treasuries.ts'
import type { ServicesContext } from '../context.ts'
import { balanceOf } from './balance.ts'

/* By which rules relayers get funds, and what they got. */

type FundingContext = Pick<ServicesContext, 'store' | 'keyring' | 'chains' | 'now' | 'fund'>

/** The time limit for the answer of a node. */
const patienceMs = 2_000
const dayS = 24 * 3_600

/** Throws DomainError (404) for a relayer that has no funding, by its own settings or by a pool's. */
export async function fundingOf(context: FundingContext, nodes: NodeAccess, id: string): Promise<FundingState> {
  const relayer = await context.keyring.findRelayer(id)
  const applied = await context.store.fundingOf(relayer)
  if (!applied) throw without('relayer')
  return fundingState(context, nodes, relayer, applied)
}

/** Throws DomainError (400, 404, 409, 412). */
export async function setFunding(
  context: FundingContext,
  nodes: NodeAccess,
  id: string,
  { body, ...conditions }: Conditions & { body: ReplaceFundingRequest },
): Promise<FundingState> {
  const its = readFunding(body)
  const outcome = await context.store.setFunding(id, its, conditions)
  if (outcome === 'missing') throw relayerNotFound(id)
  if (outcome === 'unknown_treasury') throw unknownTreasury()
  if (outcome === 'circle') throw circleByTreasury()
  context.fund(outcome.row_id)
  return fundingState(context, nodes, outcome, { funding: asCoin(its, outcome.coin_token), pool: null })
}

/** Throws DomainError (404, 409, 412). */
export async function endFunding({ store }: FundingContext, id: string, conditions: Conditions): Promise<void> {
  const before = await store.getRelayer(id)
  if (before && !before.funding) throw without('relayer')
  const outcome = await store.setFunding(id, null, conditions)
  if (outcome === 'missing') throw relayerNotFound(id)
  if (outcome === 'circle') throw circleBy('relayer_id')
}

/** Throws DomainError (404) for a pool without funding. */
export async function fundingOfPool(context: FundingContext, pool: PoolRow): Promise<PoolFundingState> {
  if (!pool.funding) throw without('pool')
  return stateOfPool(context, pool, pool.funding)
}

/** Undefined: there is no such pool. Throws DomainError (400, 409, 412). */
export async function setPoolFunding(
  context: FundingContext,
  id: string,
  body: ReplaceFundingRequest,
  conditions: Conditions,
): Promise<PoolFundingState | undefined> {
  const its = readFunding(body)
  const outcome = await context.store.setPoolFunding(id, its, conditions)
  if (outcome === 'missing') return undefined
  if (outcome === 'unknown_treasury') throw unknownTreasury()
  if (outcome === 'circle') throw circleByTreasury()
  for (const { relayer_id } of outcome.relayers) context.fund((await context.keyring.findRelayer(relayer_id)).row_id)
  return stateOfPool(context, outcome, its)
}

/** Throws DomainError (404, 409, 412). */
export async function endPoolFunding({ store }: FundingContext, pool: PoolRow, conditions: Conditions): Promise<void> {
  if (!pool.funding) throw without('pool')
  const outcome = await store.setPoolFunding(pool.id, null, conditions)
  if (outcome === 'circle') throw circleBy('pool_id')
}

async function fundingState(
  context: FundingContext,
  nodes: NodeAccess,
  relayer: RelayerRow,
  { funding: its, pool }: AppliedFunding,
): Promise<FundingState> {
  const { store, chains, now } = context
  const { row_id, address } = relayer
  const [usage, client, notes, refills, outgoing] = await Promise.all([
    usageOf(context, its, refillsOf(row_id, pool)),
    chains.clientFor(nodes, relayer),
    store.fundingNotes(),
    store.refills(row_id),
    store.outgoingSince(row_id, Math.floor(now() / 1_000) - dayS),
  ])
  const balance = client && (await within(patienceMs, balanceOf(client.callers, its.asset, address)))
  const { status, status_reason, since } = notes.get(row_id) ?? unexamined
  return {
    funding: its,
    pool_id: pool?.id ?? null,
    ...{ status, status_reason, since },
    balance: balance === undefined ? null : `${balance}`,
    usage,
    runway_seconds: its.asset === 'coin' && relayer.coin_token === null ? runwayOf(balance, outgoing) : null,
    refills: refills.map(show),
    revision: fundingRevision(relayer.funding),
  }
}

/** In seconds. `outgoing`: what left the balance in a day. */
function runwayOf(balance: bigint | undefined, outgoing: bigint): number | null {
  if (balance === undefined || outgoing === 0n) return null
  return Math.min(Number((balance * BigInt(dayS)) / outgoing), Number.MAX_SAFE_INTEGER)
}

async function stateOfPool(context: FundingContext, pool: PoolRow, given: Funding): Promise<PoolFundingState> {
  const { store, keyring } = context
  const its = asCoin(given, pool.coin_token)
  const notes = await store.fundingNotes()
  const relayers: PoolFundingState['relayers'] = []
  for (const { relayer_id } of pool.relayers) {
    const relayer = await keyring.findRelayer(relayer_id)
    if ((await store.fundingOf(relayer))?.pool?.row_id !== pool.row_id) continue
    const { status, status_reason, since } = notes.get(relayer.row_id) ?? unexamined
    relayers.push({ relayer_id, status, status_reason, since })
  }
  const usage = await usageOf(context, its, refillsOf(0, pool))
  return { funding: its, usage, relayers, revision: fundingRevision(given) }
}

/** The use of the daily limit. */
async function usageOf(
  { store }: FundingContext,
  { treasury_id, max_amount_per_day: limit }: Funding,
  asset: string,
): Promise<AmountUsage> {
  // Without its key, which this does not need.
  const treasury = await store.getRelayer(treasury_id)
  return store.usage({ chain_id: treasury?.chain_id ?? 0, holder: treasury?.address ?? '', asset, limit })
}

const show = ({ transaction_id, treasury_id, amount, is_open, created_at }: Refill) => ({
  transaction_id,
  treasury_id,
  amount,
  is_open,
  created_at,
})

const unexamined = { status: 'unknown', status_reason: null, since: null } as const

/** Throws DomainError (400). */
function readFunding(body: ReplaceFundingRequest): Funding {
  const its: Funding = {
    treasury_id: body.treasury_id,
    asset: readAsset(body.asset ?? 'coin', ['asset']),
    min_balance: readAmount(body.min_balance, ['min_balance']),
    target_balance: readAmount(body.target_balance, ['target_balance']),
    max_amount_per_day: readAmount(body.max_amount_per_day, ['max_amount_per_day']),
    max_fee_per_gas: readAmount(body.max_fee_per_gas, ['max_fee_per_gas']),
  }
  if (BigInt(its.target_balance) <= BigInt(its.min_balance)) {
    throw badRequest(['target_balance'], 'must be above min_balance')
  }
  return its
}

const circle =
  'a relayer would get its funds from itself: by its own funding, or by the first funded pool that it is in'
const circleByTreasury = () => conflict('invalid_state', ['treasury_id'], circle)

/** The DomainError (409) for a change of a pool's relayers, or an end of a funding, after which a relayer would fund itself. */
export const circleByRelayers = () => conflict('invalid_state', ['relayer_ids'], circle)
export const circleBy = (name: 'relayer_id' | 'pool_id') => namedError('invalid_state', name, circle)

const unknownTreasury = () => unknownReference(['treasury_id'], 'no relayer on the same chain has this id')
const without = (of: 'relayer' | 'pool') => namedError('not_found', `${of}_id`, `the ${of} has no funding`)
