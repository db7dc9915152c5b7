import { createHash } from 'node:crypto'
import type { SendTransactionRequest, Transaction } from '../../generated/openapi.ts'
import { ApiError, badRequest, notFound } from '../errors.ts'
import type { Deed, RelayerRow, TransactionRow } from '../store/store.ts'
import type { Nonces } from './nonces.ts'
import {
  capOf,
  type HeldRelayer,
  type Prices,
  priceColumns,
  pricesOf,
  type Reach,
  type SendingParts,
  type Tier,
} from './parts.ts'
import { checkPolicies, type Wanted } from './policies.ts'

export interface SubmitParts extends SendingParts {
  nonces: Nonces
  /** Reads a request's amounts and addresses into their one form. Throws ApiError (400). */
  readWanted(body: SendTransactionRequest): Wanted
  /** Called after every change, for those who wait for one. */
  changed(): void
  /** There is work for the relayer. */
  wake(relayer_key: number): void
}

export interface Submit {
  send(
    relayer_id: string,
    body: SendTransactionRequest,
    idempotency: Idempotency | undefined,
    deed: Deed,
  ): Promise<Accepted>
  replace(relayer_id: string, transaction_id: string, body: SendTransactionRequest, deed: Deed): Promise<TransactionRow>
}

export interface Idempotency {
  caller: string
  key: string
}

export interface Accepted {
  transaction: Transaction
  key: number
}

const default_tier: Tier = 'average'
const estimate_percent = 110
const transfer_gas = 21_000
const creation_gas = 32_000
const word_gas = 2

/** POST's half of sending: all that can fail cheaply, and then one commit that takes the nonce. */
export function createSubmit(parts: SubmitParts): Submit {
  const { store, fees, nonces, readWanted, wake, makeId, now } = parts

  async function find(relayer_id: string): Promise<HeldRelayer> {
    const held = await parts.findSigner(relayer_id)
    if (!held) throw notFound(`Relayer with ID ${relayer_id} not found`)
    return held
  }

  async function findOpen(relayer: RelayerRow, transaction_id: string): Promise<TransactionRow> {
    const row = await store.getTransaction(relayer.key, transaction_id)
    if (!row) throw notFound(`Transaction with ID ${transaction_id} not found`)
    if (!isOpen(row)) throw new ApiError('conflict', `The transaction is ${stateOf(row)}`)
    return row
  }

  async function reachOf(relayer: RelayerRow): Promise<Reach> {
    const reach = await parts.reach(relayer)
    if (!reach) throw unavailable('network', 'The network of the relayer is gone')
    return reach
  }

  /** What the chain must say before a nonce is taken; a chain that does not answer is 503. */
  async function prepare({ relayer }: HeldRelayer, reach: Reach, wanted: Wanted) {
    const from = relayer.address
    try {
      const [{ balance, latest }, market, estimate] = await Promise.all([
        reach.funds(from),
        reach.market(),
        wanted.gas_limit ?? estimateGas(relayer, reach, wanted),
      ])
      // A relayer that was stopped goes on when its chain is the right one again.
      if (!(await nonces.compare(relayer, reach.chain, latest))) throw disabled(await current(relayer))
      const prices = priceOf(relayer, wanted, market)
      const { min_balance } = relayer.policies
      if (min_balance !== undefined && balance < BigInt(min_balance)) {
        await store.noteBalance(relayer.key, balance.toString(), min_balance, true)
      }
      checkFunds(relayer, balance, BigInt(wanted.value) + BigInt(estimate) * fees.most(prices))
      return { gas_limit: estimate, prices, latest, market }
    } catch (error) {
      const wrong = parts.wrongChain(error)
      if (wrong !== undefined) await nonces.disableWrongChain(relayer, wrong)
      throw told(error, parts)
    }
  }

  const current = async (relayer: RelayerRow) => (await store.getRelayerByKey(relayer.key)) ?? relayer

  async function estimateGas({ address, policies }: RelayerRow, { chain }: Reach, wanted: Wanted): Promise<number> {
    if (policies.gas_limit_estimation === false) {
      throw badRequest('/body/gas_limit', 'must be given: the policy gas_limit_estimation is off')
    }
    const { to, data } = wanted
    const estimate = await chain.estimateGas({ from: address, to, value: BigInt(wanted.value), data })
    // The state may be another by the time that it is mined; a plain transfer's cost is fixed.
    return estimate === transfer_gas ? estimate : Math.ceil((estimate * estimate_percent) / 100)
  }

  function priceOf(relayer: RelayerRow, wanted: Wanted, market: Awaited<ReturnType<Reach['market']>>): Prices {
    const { gas_price, max_fee_per_gas, max_priority_fee_per_gas } = wanted
    const legacy = gas_price !== null || relayer.policies.eip1559_pricing === false
    const tipped = max_fee_per_gas !== null || max_priority_fee_per_gas !== null
    if (tipped && (legacy || market.kind === 'legacy')) {
      const why = legacy ? 'the policy eip1559_pricing is off' : 'the chain has no base fee'
      throw badRequest('/body/max_fee_per_gas', `cannot be given: ${why}`)
    }
    const quoted = fees.quote(market, wanted.tier ?? default_tier, legacy)
    if (quoted.kind === 'legacy') {
      return fees.limit({ kind: 'legacy', gas_price: BigInt(gas_price ?? quoted.gas_price) }, capOf(relayer))
    }
    const tip = BigInt(max_priority_fee_per_gas ?? quoted.max_priority_fee_per_gas)
    const room = quoted.max_fee_per_gas - quoted.max_priority_fee_per_gas
    const most = BigInt(max_fee_per_gas ?? room + tip)
    const prices = {
      kind: 'eip1559',
      max_fee_per_gas: most,
      max_priority_fee_per_gas: tip < most ? tip : most,
    } as const
    return fees.limit(prices, capOf(relayer))
  }

  return {
    async send(relayer_id, body, idempotency, deed) {
      const held = await find(relayer_id)
      const { relayer } = held
      // What was accepted once is answered again, whatever has become of the relayer since.
      const once = idempotency && { ...idempotency, body_hash: hashOf(body) }
      if (once) {
        const replayed = await store.replay(once.caller, relayer.key, once.key, once.body_hash)
        if (replayed) return accepted(replayed, relayer.id)
      }
      checkPause(relayer)
      const wanted = readWanted(body)
      checkTime(wanted, now())
      checkGas(wanted)
      checkPolicies(relayer, wanted)
      const reach = await reachOf(relayer)
      const { gas_limit, prices, latest } = await prepare(held, reach, wanted)

      const tier = wanted.tier ?? default_tier
      const id = makeId()
      deed.subject = id
      const creation = await store.doing(deed, () =>
        store.createTransaction({
          id,
          relayer_key: relayer.key,
          relayer_id: relayer.id,
          chain_id: relayer.chain_id,
          from: relayer.address,
          to: wanted.to,
          value: wanted.value,
          data: wanted.data,
          gas_limit,
          ...priceColumns(prices),
          speed: { tier, percentile: fees.percentileOf[tier] },
          valid_until: wanted.valid_until,
          intent: 'send',
          status_reason: null,
          nonce_floor: latest,
          ...(once && { idempotency: once }),
        }),
      )
      wake(relayer.key)
      parts.changed()
      return accepted(creation, relayer.id)
    },

    async replace(relayer_id, transaction_id, body, deed) {
      const held = await find(relayer_id)
      const { relayer } = held
      checkPause(relayer)
      await findOpen(relayer, transaction_id)
      const wanted = readWanted(body)
      checkTime(wanted, now())
      checkGas(wanted)
      checkPolicies(relayer, wanted)
      const reach = await reachOf(relayer)
      const { gas_limit, prices, market } = await prepare(held, reach, wanted)

      // The sender may move the row meanwhile; what it moved is read again.
      for (;;) {
        const row = await findOpen(relayer, transaction_id)
        const tier = wanted.tier ?? row.speed?.tier ?? default_tier
        const last = (await store.attempts(row.key)).at(-1)
        const before = row.status === 'pending' ? undefined : last && pricesOf(last)
        const replacing = before ? atLeast(before, prices, isPriced(wanted), relayer, tier, market) : prices
        const { to, value, data, valid_until } = wanted
        const [moved] = await store.doing(deed, () =>
          store.move([
            {
              key: row.key,
              revision: row.revision,
              set: {
                ...{ to, value, data, gas_limit, valid_until, resign: row.status !== 'pending' },
                ...priceColumns(replacing),
                speed: { tier, percentile: fees.percentileOf[tier] },
                status_reason: null,
              },
            },
          ]),
        )
        if (!moved) continue
        wake(relayer.key)
        return moved
      }
    },
  }

  /** Prices that a node takes in the place of what it has: given ones must be enough, others are raised. */
  function atLeast(
    before: Prices,
    prices: Prices,
    given: boolean,
    relayer: RelayerRow,
    tier: Tier,
    market: Awaited<ReturnType<Reach['market']>>,
  ): Prices {
    const least = fees.bump(before, before, undefined)
    if (given) {
      if (least && !isEnough(prices, least)) {
        throw badRequest('/body', 'must pay at least 10 % more for both fees than what was signed last')
      }
      return prices
    }
    const raised = fees.bump(before, fees.quote(market, tier, before.kind === 'legacy'), capOf(relayer))
    if (!raised) throw badRequest('/body', 'cannot pay 10 % more than what was signed last: the policy gas_price_cap')
    return raised
  }
}

/** A gas price is both fees at once. */
const feesOf = (prices: Prices): [bigint, bigint] =>
  prices.kind === 'legacy'
    ? [prices.gas_price, prices.gas_price]
    : [prices.max_fee_per_gas, prices.max_priority_fee_per_gas]

const isEnough = (prices: Prices, least: Prices): boolean =>
  feesOf(least).every((fee, index) => (feesOf(prices)[index] as bigint) >= fee)

const isPriced = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: Wanted): boolean =>
  gas_price !== null || max_fee_per_gas !== null || max_priority_fee_per_gas !== null

const isOpen = ({ status, intent, block_hash }: TransactionRow): boolean =>
  intent === 'send' && block_hash === null && (status === 'pending' || status === 'sent' || status === 'submitted')

/** In words that fit "The transaction is …". */
export const stateOf = ({ status, intent }: TransactionRow): string =>
  intent !== 'send' && (status === 'pending' || status === 'sent' || status === 'submitted') ? 'being canceled' : status

function accepted(
  creation: Awaited<ReturnType<SendingParts['store']['createTransaction']>>,
  relayer_id: string,
): Accepted {
  switch (creation.outcome) {
    case 'mismatch':
      throw new ApiError('unprocessable', 'Unprocessable Content', [
        { path: '/headers/idempotency-key', message: 'was used with another body' },
      ])
    case 'relayer_gone':
      throw notFound(`Relayer with ID ${relayer_id} not found`)
    case 'held':
      throw new Error('The next nonce is held already')
    default:
      return creation
  }
}

function checkPause({ paused }: RelayerRow) {
  if (paused) throw new ApiError('forbidden', 'Relayer paused')
}

/**
 * The least gas that a chain takes a transaction with: before anything is executed (Yellow Paper, appendix G; EIP-2028; EIP-3860 for
 * a creation), and for its data in any case (EIP-7623). Nodes take less and drop it when they make a block.
 */
function checkGas({ to, data, gas_limit }: Wanted) {
  if (gas_limit === null) return
  const bytes = Buffer.from((data ?? '0x').slice(2), 'hex')
  const zeros = bytes.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0)
  const others = bytes.length - zeros
  const creation = to === null ? creation_gas + word_gas * Math.ceil(bytes.length / 32) : 0
  const least = transfer_gas + Math.max(creation + 4 * zeros + 16 * others, 10 * zeros + 40 * others)
  if (gas_limit < least) throw badRequest('/body/gas_limit', `must be at least ${least} for this data`)
}

function checkTime({ valid_until }: Wanted, now: number) {
  if (valid_until !== null && Date.parse(valid_until) <= now) throw badRequest('/body/valid_until', 'has passed')
}

function checkFunds({ policies }: RelayerRow, balance: bigint, cost: bigint) {
  if (balance < BigInt(policies.min_balance ?? 0)) {
    throw new ApiError('forbidden', 'Forbidden', [
      {
        path: 'policies/min_balance',
        message: `The balance is ${balance}, and the policy asks for ${policies.min_balance}`,
      },
    ])
  }
  if (balance < cost) {
    throw badRequest('/body/value', `costs up to ${cost} wei with gas, and the balance is ${balance}`)
  }
}

/** What a failure of the chain's means for the caller. */
function told(error: unknown, { kindOf, wrongChain }: SubmitParts): unknown {
  const kind = kindOf(error)
  if (kind === undefined) return error
  const { message } = error as Error
  if (kind === 'reverted') return badRequest('/body', `would revert: ${message}`.slice(0, 1_000))
  if (kind === 'insufficient_funds') return badRequest('/body/value', 'is more than the balance, with gas')
  if (kind === 'gas_limit_too_low' || kind === 'gas_limit_too_high') return badRequest('/body/gas_limit', message)
  if (kind === 'rejected') return badRequest('/body', message)
  const wrong = wrongChain(error)
  return unavailable('network', wrong === undefined ? message : `Its nodes are on another chain (${wrong})`)
}

const unavailable = (path: string, message: string) =>
  new ApiError('unavailable', 'Service Unavailable', [{ path, message: message.slice(0, 1_000) }])

const disabled = ({ disabled_reason }: RelayerRow) =>
  unavailable('relayer', disabled_reason ?? 'The relayer is disabled')

/** The same members in any order are the same body. */
const hashOf = (body: SendTransactionRequest): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1))))
    .digest('hex')
