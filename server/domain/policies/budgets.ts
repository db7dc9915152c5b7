import type { ApiKeyBudget, ApiKeyBudgetPatch } from '../../../generated/openapi.ts'
import type { HashedTypedData } from '../encoding/typed-data.ts'
import { badRequest, errorOf, type Fault, refusedBy } from '../errors.ts'
import type { RelayerRow } from '../rows.ts'
import type { Spend } from '../transaction-rows.ts'
import { readAddress, readAmount, readAsset } from '../values.ts'
import { type CoinToken, type Moving, readTokenCall, selectorOf, unitOf } from './token-calls.ts'
import { readTokenSignature } from './token-signatures.ts'

/* The budget of an API key. Its amounts are counted with those of relayers (daily-limits.ts), under the key's own name. */

/** A budget, and the id of the key that has it. */
export interface KeyBudget {
  key_id: string
  rules: ApiKeyBudget
}

/** What a transaction or a signature moves of one asset, as a budget names it, and who may get it. */
interface Movement {
  asset: string
  amount: bigint
  receiver: string | null
}

/** `uncounted`: why not everything that it moves is known; absent: it is. `receivers`: that it calls, and of what it moves. */
interface Movements {
  moved: Movement[]
  receivers: (string | null)[]
  uncounted?: string
}

/** Whose policies allow what a budget cannot count, and on whose network it is. */
type Network = Pick<RelayerRow, 'policies' | 'coin_token'>

/** Under which name the amounts of a key are counted. */
const budgetHolder = ({ key_id }: Pick<KeyBudget, 'key_id'>): string => `key ${key_id}`

export const isOfKey = (holder: string | undefined): boolean => holder?.startsWith('key ') === true

/** In the place of a chain: a key has one sum over all networks. */
export const budgetChain = 0

/** Throws DomainError (403) for a transaction that the budget cannot count, or does not allow apart from its sums. */
export function checkBudget(
  budget: KeyBudget | undefined,
  network: Network,
  transaction: Moving & { authorization_list?: unknown[] | null },
): void {
  if (!budget) return
  const { authorization_list: authorizations } = transaction
  const movements = movementsOf(network, transaction)
  const uncounted = authorizations ? 'authorizations (EIP-7702)' : movements.uncounted
  check(budget, network, { ...movements, ...(uncounted !== undefined && { uncounted }) })
}

/** The same for a signature of typed data. */
export function checkBudgetOfSignature(
  budget: KeyBudget,
  network: Network,
  document: HashedTypedData,
  isAllowedDomain: boolean,
): void {
  const movements = signedMovements(document)
  if (movements.uncounted !== undefined && isAllowedDomain) return
  check(budget, network, movements)
}

/** 32 bytes, as bytes or as their digits, may be the digest of anything. Throws DomainError (403). */
export function checkBudgetOfMessage(message: string | Uint8Array): void {
  const bytes = Buffer.from(message as string)
  if (bytes.length === 32 || /^(?:0x)?[0-9a-fA-F]{64}$/.test(bytes.toString()))
    throw uncountedError('a message of 32 bytes')
}

/** What a key with a budget never does. Throws DomainError (403). */
export const uncountedError = (what: string) =>
  refusedBy([{ of: 'budget', field: ['assets'], message: `The budget of this API key cannot count ${what}` }])

/** Whose transaction it is decides which budget counts it. Throws DomainError (403) for that of another caller. */
export function checkOwnTransaction(budget: KeyBudget | undefined, caller: string): void {
  if (!budget || caller === budget.key_id) return
  const message = 'this API key has a budget: it changes and cancels only its own transactions'
  throw errorOf('forbidden', 'api_key', message)
}

/** Whether a key with a budget may use an operation: one that reads, or that its budget counts. */
export function checkBudgetOfOperation(
  budget: KeyBudget | undefined,
  { id, roles, isCounted }: { id: string; roles: readonly string[]; isCounted: boolean },
): void {
  if (!budget || isCounted || roles.some((role) => role === 'read' || role === 'notifications')) return
  throw errorOf('forbidden', 'api_key', `this API key has a budget, which cannot count the operation ${id}`)
}

/** The amounts that the budget counts for a transaction. `fee`: the highest possible, in wei. */
export const budgetSpending = (budget: KeyBudget | undefined, network: Network, transaction: Moving): Spend[] =>
  budget ? spendingOf(budget, network, movementsOf(network, transaction)) : []

/** The same for a signature of typed data. */
export const budgetOfSignature = (
  budget: KeyBudget | undefined,
  network: Network,
  document: HashedTypedData,
): Spend[] => (budget ? spendingOf(budget, network, signedMovements(document)) : [])

export function budgetFees(budget: KeyBudget | undefined, fee: bigint): Spend[] {
  const limit = budget?.rules.max_fee_per_day
  if (!budget || limit == null || fee === 0n) return []
  return [{ policy: 'max_fee_per_day', asset: 'fee', amount: `${fee}`, limit, holder: budgetHolder(budget) }]
}

/** Where the limits of a budget are counted. Undefined: there is no limit. */
export function budgetPlaces({ key_id, rules }: KeyBudget) {
  const place = { chain_id: budgetChain, holder: budgetHolder({ key_id }) }
  const { assets, max_fee_per_day: fee, max_transactions_per_hour: count } = rules
  return {
    assets: assets.map(({ asset, max_amount_per_day: limit }) => ({ ...place, asset: assetOf(asset), limit })),
    fees: fee === null ? undefined : { ...place, asset: 'fee', limit: fee },
    transactions: count === null ? undefined : { ...place, asset: 'calls', limit: `${count}`, window: 'hour' as const },
  }
}

/** As amounts name it. */
const assetOf = (asset: string): string => (asset === 'coin' ? 'wei' : asset)

function spendingOf(budget: KeyBudget, { coin_token: coin }: Network, { moved }: Movements): Spend[] {
  const { assets, max_transactions_per_hour: count } = budget.rules
  const holder = budgetHolder(budget)
  const spending = assets.flatMap(({ asset, max_amount_per_day: limit }, index): Spend[] => {
    const amount = amountOf(asset, coin, moved)
    const policy = `assets/${index}/max_amount_per_day` as const
    return amount === 0n ? [] : [{ policy, asset: assetOf(asset), amount: `${amount}`, limit, holder }]
  })
  if (count === null) return spending
  return [
    ...spending,
    { policy: 'max_transactions_per_hour', asset: 'calls', amount: '1', limit: `${count}`, holder, window: 'hour' },
  ]
}

function check({ rules }: KeyBudget, { coin_token: coin }: Network, { moved, receivers, uncounted }: Movements): void {
  if (uncounted !== undefined) throw uncountedError(uncounted)
  const faults: Fault[] = []
  const refuse = (field: Fault['field'], message: string) => faults.push({ of: 'budget', field, message })
  for (const { asset } of moved) {
    if (rules.assets.some((listed) => inUnitsOf(listed.asset, coin, { asset, amount: 0n }) !== undefined)) continue
    refuse(['assets'], `${asset === 'coin' ? 'The coin' : `The token ${asset}`} is not in the assets of the budget`)
  }
  for (const [index, { asset, max_amount_per_transaction: limit }] of rules.assets.entries()) {
    const amount = amountOf(asset, coin, moved)
    if (limit === null || amount <= BigInt(limit)) continue
    const [unit, limitUnit] = asset === 'coin' ? ['wei', ' wei'] : [`of ${asset}`, '']
    const field = ['assets', index, 'max_amount_per_transaction']
    refuse(field, `${amount} ${unit} is above the limit of ${limit}${limitUnit}`)
  }
  for (const receiver of rules.receivers ? new Set(receivers) : []) {
    if (receiver !== null && rules.receivers?.includes(receiver)) continue
    refuse(['receivers'], `The receiver ${receiver} is not in the receivers of the budget`)
  }
  if (faults.length > 0) throw refusedBy(faults)
}

/**
 * An amount of an asset in units of a listed one: the same, or the other view of a coin that is a token too. Undefined: it is another one.
 */
function inUnitsOf(
  listed: string,
  coin: CoinToken,
  { asset, amount }: Pick<Movement, 'asset' | 'amount'>,
): bigint | undefined {
  if (asset === listed) return amount
  if (coin === null) return undefined
  const unit = unitOf(coin)
  if (listed === 'coin' && asset === coin.address) return amount * unit
  return asset === 'coin' && listed === coin.address ? (amount + unit - 1n) / unit : undefined
}

const amountOf = (listed: string, coin: CoinToken, moved: Movement[]): bigint =>
  moved.reduce((sum, one) => sum + (inUnitsOf(listed, coin, one) ?? 0n), 0n)

function movementsOf({ policies }: Network, { to, value, data }: Moving): Movements {
  const coin = value === '0' ? [] : [{ asset: 'coin', amount: BigInt(value), receiver: to }]
  if (to === null) return { moved: coin, receivers: [to], uncounted: 'the creation of a contract' }
  if (data === null || data === '0x') return { moved: coin, receivers: [to] }
  const call = readTokenCall(data)
  if (call.kind === 'counted') {
    const { amount, receiver = null } = call
    return {
      moved: [...coin, { asset: to, amount, receiver }],
      receivers: [receiver, ...(coin.length > 0 ? [to] : [])],
    }
  }
  const selector = selectorOf(data)
  const listed = policies.allowed_functions?.find(({ address }) => address === to)?.selectors
  const isListed = call.kind === 'other' && selector !== undefined && listed?.includes(selector) === true
  const name = selector === undefined ? 'a call without a function selector' : `the function ${selector}`
  return { moved: coin, receivers: [to], ...(!isListed && { uncounted: `${name} of ${to}` }) }
}

function signedMovements(document: HashedTypedData): Movements {
  const signature = readTokenSignature(document)
  // A witness may be called `to`.
  const { spender, to = '' } = document.message
  const receiver = `${spender ?? to}`.toLowerCase()
  if (signature.outcome === 'uncounted')
    return { moved: [], receivers: [], uncounted: `typed data of the type ${document.struct.text.slice(0, 200)}` }
  const moved = [...signature.amounts].map(([asset, amount]) => ({ asset, amount, receiver }))
  return { moved, receivers: receiver === '' ? [] : [receiver] }
}

/** The given members in stored form. Throws DomainError (400). */
export function readBudget({
  assets,
  max_fee_per_day: fee,
  max_transactions_per_hour: count,
  receivers,
}: ApiKeyBudgetPatch): Partial<ApiKeyBudget> {
  const place = ['budget', 'assets']
  const read = assets?.map(({ asset, max_amount_per_transaction: most, max_amount_per_day }, index) => ({
    asset: readAsset(asset, [...place, index, 'asset']),
    max_amount_per_transaction: most == null ? null : readAmount(most, [...place, index, 'max_amount_per_transaction']),
    max_amount_per_day: readAmount(max_amount_per_day, [...place, index, 'max_amount_per_day']),
  }))
  const repeated = read?.findIndex(({ asset }, index) => read.findIndex((one) => one.asset === asset) !== index) ?? -1
  if (repeated >= 0) throw badRequest([...place, repeated, 'asset'], 'is listed twice; each asset may have one entry')
  return {
    ...(read && { assets: read }),
    ...(fee !== undefined && { max_fee_per_day: fee === null ? null : readAmount(fee, ['budget', 'max_fee_per_day']) }),
    ...(count !== undefined && { max_transactions_per_hour: count }),
    ...(receivers !== undefined && {
      receivers: receivers?.map((address, index) => readAddress(address, ['budget', 'receivers', index])) ?? null,
    }),
  }
}

/** A budget after a change of it (RFC 7396). Throws DomainError (400) for a new one that does not name what it may move. */
export function mergeBudget(before: ApiKeyBudget | null, change: Partial<ApiKeyBudget>): ApiKeyBudget {
  const { assets } = { ...before, ...change }
  if (!assets) throw badRequest(['budget', 'assets'], 'is required for a key without a budget; [] lets it move nothing')
  return { max_fee_per_day: null, max_transactions_per_hour: null, receivers: null, ...before, ...change, assets }
}
