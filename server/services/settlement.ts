import type { X402Settled, X402Supported, X402Verified } from '../../generated/openapi.ts'
import { type Chains, type NetworkClient, requireClient } from '../chain/chains.ts'
import { proveTransfer } from '../chain/proofs.ts'
import { DomainError, poolBehindIsEmpty, poolNotFound, refusedBy } from '../domain/errors.ts'
import type { NodeAccess } from '../domain/node-access.ts'
import {
  endOf,
  exclusiveKeyOfPayment,
  facilitatorBudget,
  networkOf,
  ofKey,
  type Payment,
  type PaymentRefusal,
  readPayment,
  reasons,
  ruleAgainst,
  timeAgainst,
  transferOf,
} from '../domain/payments.ts'
import { feeOf } from '../domain/policies/fee-policies.ts'
import type { PoolRow } from '../domain/rows.ts'
import { isFinal, isUnmined } from '../domain/statuses.ts'
import { addressOf, curve } from '../keys/secp256k1.ts'
import type { FacilitatorRow } from '../store/queries/facilitators.ts'
import { type PaymentRow, showPayment } from '../store/queries/payments.ts'
import { ask } from './accounts.ts'
import type { ServicesContext } from './context.ts'
import { poolOf } from './pools.ts'
import type { Asker, Complete } from './transactions/send.ts'
import { sendToPool } from './transactions/send-to-pool.ts'
import type { WaitPlace } from './transactions/wait-for-status.ts'

/* Settlement of x402 payments: one payload, one row, one transaction. Every answer about an accepted payment is read from its row. */

type Context = Pick<ServicesContext, 'store' | 'pools' | 'keyring' | 'chains' | 'now'>

/** The relayers of the pool, and its nodes. Throws DomainError (404). */
async function findSenders(context: Context, nodes: NodeAccess, facilitator: FacilitatorRow) {
  const { keyring, chains } = context
  const pool = await poolOf(context, facilitator.pool_id)
  const relayer = pool?.relayers.find(({ weight }) => weight > 0)
  const first = relayer && (await keyring.findRelayer(relayer.relayer_id))
  if (!pool) throw poolNotFound()
  if (!first) throw poolBehindIsEmpty()
  return { pool, first, client: await requireClient(chains, nodes, first) }
}

export const supportedPayments = async (
  context: Pick<Context, 'pools' | 'store'>,
  { chain_id, pool_id }: FacilitatorRow,
): Promise<X402Supported> => ({
  kinds: [{ x402Version: 2, scheme: 'exact', network: networkOf(chain_id) }],
  extensions: [],
  signers: { 'eip155:*': ((await poolOf(context, pool_id))?.relayers ?? []).map(({ address }) => address) },
})

const invalid = ({ reason, message, payer }: PaymentRefusal): X402Verified => ({
  isValid: false,
  invalidReason: reason,
  ...(message !== undefined && { invalidMessage: message }),
  ...(payer !== undefined && { payer }),
})

/** Throws DomainError (404, 503). */
export async function verifyPayment(
  context: Context,
  nodes: NodeAccess,
  facilitator: FacilitatorRow,
  body: object,
): Promise<X402Verified> {
  const payment = readPayment(facilitator.chain_id, body)
  if ('reason' in payment) return invalid(payment)
  const { payer } = payment
  const known = await context.store.getPayment(facilitator.row_id, payment.id)
  if (known?.status === 'settled')
    return invalid({ reason: reasons.nonceUsed, message: `paid by ${known.hash}`, payer })
  if (known?.status === 'failed') return invalid({ reason: known.error_reason ?? reasons.failed, payer })
  // What is under way is paid, or can be.
  if (known) return { isValid: true, payer }
  const refusal = ruleAgainst(facilitator, payment) ?? timeAgainst(payment, context.now())
  if (refusal) return invalid(refusal)
  const { client, first } = await findSenders(context, nodes, facilitator)
  const checked = await checkOnChain(client, payment)
  if ('reason' in checked) return invalid({ ...checked, payer })
  const call = { from: first.address, value: 0n, ...transferOf(checked), gas: maxSimulatedGas }
  const error = await ask(client.callers.tryGas(call))
  if (error) return invalid({ ...(await whyReverts(client, payment, error.message)), payer })
  const { remaining } = await context.store.usage(facilitatorBudget(facilitator))
  return BigInt(remaining) < BigInt(facilitator.max_fee_per_payment)
    ? invalid({ reason: reasons.budget, payer })
    : { isValid: true, payer }
}

/** Enough for the signature check of a contract, and for the deployment of one. */
const maxSimulatedGas = 3_000_000

/** What can be told of an authorization without running it. A payer whose account exists by now needs no deployment. */
async function checkOnChain({ chain }: NetworkClient, payment: Payment): Promise<Payment | PaymentRefusal> {
  const { payer, digest, signature } = payment
  const key = ofKey(signature)
  const publicKey = key && curve.recover(digest, key)
  const isOfKey = publicKey !== undefined && addressOf(publicKey) === payer
  const isContract = !isOfKey && (await ask(chain.code(payer))).length > 0
  if (!isOfKey && !isContract && !payment.deployment) return { reason: reasons.signature }
  const isUsed = await ask(chain.authorizationState(payment))
  if (isUsed === undefined) return { reason: reasons.notSupported }
  if (isUsed) return { reason: reasons.nonceUsed }
  return isContract ? { ...payment, deployment: undefined } : payment
}

/** Why the nodes refuse the transfer. */
async function whyReverts({ chain }: NetworkClient, payment: Payment, message: string): Promise<PaymentRefusal> {
  const { asset, payer, amount } = payment
  if (await ask(chain.authorizationState(payment))) return { reason: reasons.nonceUsed }
  if ((await ask(chain.tokenBalance(asset, payer))) < BigInt(amount)) return { reason: reasons.balance }
  return { reason: reasons.simulation, message: message.slice(0, 1_000) }
}

/** A settlement as it was asked for. `place`: it waits there. */
interface SettlementAsker extends Asker<FacilitatorRow> {
  body: object
  place: WaitPlace
}

/**
 * Settles a payment: accepts it once, waits until it is mined, and answers by its row. Throws DomainError where nothing can be said about
 * the payment.
 */
export async function settlePayment(
  context: ServicesContext,
  asked: SettlementAsker,
  facilitator: FacilitatorRow,
): Promise<X402Settled> {
  const { store, waits, elapsed } = context
  const payment = readPayment(facilitator.chain_id, asked.body)
  if ('reason' in payment) return notSettled(facilitator, payment)
  const read = () => store.getPayment(facilitator.row_id, payment.id)
  let row = await read()
  if (!row) {
    const refusal = await accept(context, asked, facilitator, payment)
    row = await read()
    if (!row) return refusal ?? notSettled(facilitator, { reason: reasons.nonceUsed, payer: payment.payer })
  }
  if (row.status !== 'pending') return answerOf(facilitator, row)
  const client = await requireClient(context.chains, asked.nodes, await nodesOf(store, row, facilitator))
  const endsAt = elapsed() + facilitator.wait_seconds * 1_000
  // A block that needs no other one on top is confirmed with the same answers.
  const stages =
    client.network.required_confirmations > 1 ? (['mined', 'confirmed'] as const) : (['confirmed'] as const)
  for (const until of stages) {
    if (row.status !== 'pending') break
    const waitMs = Math.max(endsAt - elapsed(), 0)
    await waits.until({ transaction_id: row.transaction_id, until, wait_ms: waitMs }, asked.place)
    await concludePayment(context, client, (await read()) ?? row)
    row = (await read()) ?? row
  }
  return answerOf(facilitator, row)
}

/** Where the outcome of a payment is looked for: at the nodes of its relayer, or of the network when that was deleted meanwhile. */
const nodesOf = async (store: Context['store'], { relayer_row_id }: PaymentRow, { network }: FacilitatorRow) =>
  (await store.getRelayerByRowId(relayer_row_id)) ?? { network, custom_rpc_urls: [] }

/** Undefined: it is accepted. Otherwise why not, or what somebody else has settled. Throws DomainError. */
async function accept(
  context: ServicesContext,
  asked: SettlementAsker,
  facilitator: FacilitatorRow,
  given: Payment,
): Promise<X402Settled | undefined> {
  const early = ruleAgainst(facilitator, given) ?? timeAgainst(given, context.now())
  if (early) return notSettled(facilitator, early)
  const { client, pool } = await findSenders(context, asked.nodes, facilitator)
  const payment = await checkOnChain(client, given)
  const refusal = 'reason' in payment ? payment : await send(context, asked, { facilitator, pool, payment, client })
  if (!refusal) return undefined
  const { payer } = given
  if (refusal.reason !== reasons.nonceUsed) return notSettled(facilitator, { ...refusal, payer })
  const { proof, seen } = await proveTransfer(
    client,
    given,
    blocksSince(client, context.now() - searchedMs, context.now()),
  )
  const hash = proof?.fact.hash
  const answer = { network: networkOf(facilitator.chain_id), payer, amount: given.amount }
  if (hash !== undefined) return { success: true, transaction: hash, ...answer }
  // What some node shows is under way, unless it is proven that nobody has paid.
  if (proof || seen === undefined) return notSettled(facilitator, { ...refusal, payer })
  return { success: false, errorReason: reasons.pending, transaction: seen, ...answer }
}

/** How far back somebody else's transaction is looked for, when this service has none. */
const searchedMs = 3_600_000

/** Accepts the transaction of a payment, in one commit with its row. */
async function send(
  context: ServicesContext,
  asked: SettlementAsker,
  {
    facilitator,
    pool,
    payment,
    client,
  }: { facilitator: FacilitatorRow; pool: PoolRow; payment: Payment; client: NetworkClient },
): Promise<PaymentRefusal | undefined> {
  const { id, asset, payer, pay_to, amount, nonce, valid_before } = payment
  let current = facilitator
  const complete: Complete = (transaction, quote) => {
    const { row_id, max_fee_per_payment, max_fee_per_day } = current
    const fee = feeOf(quote)
    if (fee > BigInt(max_fee_per_payment)) {
      const message = `a fee of up to ${fee} wei is above the limit of ${max_fee_per_payment} wei`
      throw refusedBy([{ of: 'facilitator', field: ['max_fee_per_payment'], message }])
    }
    const { holder } = facilitatorBudget(current)
    const { gas_price, max_fee_per_gas, max_priority_fee_per_gas } = transaction
    return {
      ...transaction,
      valid_until: endOf(payment),
      gas_is_given: true,
      // It keeps its price and with it the hash that callers are told.
      ...{ fee_ceiling: gas_price ?? max_fee_per_gas, tip_ceiling: max_priority_fee_per_gas },
      spending: [
        ...(transaction.spending ?? []),
        { policy: 'max_fee_per_day', asset: 'fee', amount: max_fee_per_payment, limit: max_fee_per_day, holder },
      ],
      sponsored: {
        ...{ sponsorship_row_id: null, user: payer, charge: max_fee_per_payment, holders: [holder] },
        exclusive_key: exclusiveKeyOfPayment(payment),
      },
      payment: {
        ...{ facilitator_row_id: row_id, facilitator_id: current.id, valid_before: `${valid_before}` },
        ...{ id, asset, payer, pay_to, amount, nonce },
      },
    }
  }
  const authorize = async () => {
    current = await asked.authorize()
    const refusal = ruleAgainst(current, payment)
    if (refusal) throw new PaymentRefused(refusal)
    return (await poolOf(context, pool.id)) ?? pool
  }
  const idempotency = { caller: facilitatorBudget(facilitator).holder, key: id, body_hash: id }
  const { auditEntry, nodes } = asked
  try {
    const body = { ...transferOf(payment), speed: 'fast' as const }
    await sendToPool(context, { auditEntry, nodes, authorize, idempotency }, pool, { body, complete })
    return undefined
  } catch (error) {
    return refusalIn(error) ?? whyReverts(client, payment, (error as Error).message)
  }
}

/** The rules of the facilitator were changed meanwhile. */
class PaymentRefused extends Error {
  readonly refusal: PaymentRefusal

  constructor(refusal: PaymentRefusal) {
    super(refusal.reason)
    this.refusal = refusal
  }
}

/** Undefined: the transfer would revert. Throws every other error again. */
function refusalIn(error: unknown): PaymentRefusal | undefined {
  if (error instanceof PaymentRefused) return error.refusal
  if (!(error instanceof DomainError)) throw error
  if (error.code === 'execution_reverted') return undefined
  const [fault] = error.faults
  const message = fault?.message ?? error.message
  if (error.code === 'policy_violation') {
    if (fault?.of !== 'facilitator') return { reason: 'policy_violation', message }
    return { reason: fault.field[0] === 'max_fee_per_payment' ? reasons.maxFee : reasons.budget, message }
  }
  // Another payload with this authorization has the key.
  if (error.code === 'invalid_state' && fault?.field[0] === 'data') return { reason: 'duplicate_settlement' }
  throw error
}

const notSettled = ({ chain_id }: FacilitatorRow, { reason, message, payer }: PaymentRefusal): X402Settled => ({
  ...{ success: false, errorReason: reason, transaction: '', network: networkOf(chain_id) },
  ...(message !== undefined && { errorMessage: message }),
  ...(payer !== undefined && { payer }),
})

function answerOf({ chain_id }: FacilitatorRow, row: PaymentRow): X402Settled {
  const { id, status, payer, amount, hash, error } = showPayment(row)
  const its = { payer, network: networkOf(chain_id), transaction: hash ?? '', extra: { payment: id } }
  if (status === 'settled') return { success: true, amount, ...its }
  return {
    success: false,
    errorReason: status === 'pending' ? reasons.pending : (error?.code ?? reasons.failed),
    ...its,
  }
}

/** With a margin: blocks may come faster than the network's setting says. */
const blocksSince = ({ network }: Pick<NetworkClient, 'network'>, from: number, now: number): number =>
  Math.ceil((2 * (now - from)) / (network.average_blocktime_ms || 1_000)) + leastBlocks
const leastBlocks = 100

type ConcludeContext = Pick<ServicesContext, 'store' | 'now' | 'pollNow'>

/**
 * Writes the outcome of a payment once it is proven. It is settled by whichever transaction carried it out, which most nodes show; somebody
 * else's needs the required confirmations, and ours is withdrawn then. It has failed only when its authorization cannot be used any more:
 * until then a payer who signs again may pay twice.
 */
async function concludePayment(context: ConcludeContext, client: NetworkClient, row: PaymentRow): Promise<void> {
  const { store, now, pollNow } = context
  const { transaction_status: status, transaction_hash: own } = row
  if (row.status !== 'pending') return
  if (status === 'confirmed' && own !== null) return store.endPayment(row, { status: 'settled', hash: own })
  const authorized = { ...row, valid_before: BigInt(row.valid_before) }
  const blocks = blocksSince(client, Date.parse(row.created_at), now())
  const { proof, agreed } = await proveTransfer(client, authorized, blocks)
  if (own !== null && agreed === own) return store.endPayment(row, { status: 'settled', hash: own })
  if (!proof) return
  const { hash } = proof.fact
  if (hash !== undefined) await store.endPayment(row, { status: 'settled', hash })
  else if (status === null || isFinal(status)) {
    const reason = status === 'failed' ? reasons.failed : proof.fact.is_used ? reasons.nonceUsed : reasons.expired
    return store.endPayment(row, { status: 'failed', error_reason: reason })
  }
  if (status === null || !isUnmined(status)) return
  const reason = hash === undefined ? 'Its authorization cannot be used any more' : `The payment was settled by ${hash}`
  const { relayer_row_id, transaction_id } = row
  await store.withdraw({ relayer_row_id, id: transaction_id }, { intent: 'cancel', status_reason: reason })
  pollNow(relayer_row_id)
}

/** How often open payments are looked at, and how old one is then: of one whose transaction is in no block yet, most will be soon. */
const checkMs = 2_000
const unminedCheckMs = 10_000

interface SettlementsContext extends ConcludeContext, Pick<ServicesContext, 'elapsed'> {
  networkClient: Chains['networkClient']
}

/** Concludes payments that no caller waits for. */
export class Settlements {
  readonly #context: SettlementsContext
  /** When to look again, by the facilitator's row id. */
  readonly #nextAt = new Map<number, number>()

  constructor(context: SettlementsContext) {
    this.#context = context
  }

  /** Resolves to the milliseconds until the next time; undefined: no payment of the facilitator is open. */
  async work(facilitatorRowId: number): Promise<number | undefined> {
    const { store, elapsed, now } = this.#context
    // The search for work wakes every row, at each change by another process.
    const earlyMs = (this.#nextAt.get(facilitatorRowId) ?? 0) - elapsed()
    if (earlyMs > 0) return earlyMs
    this.#nextAt.set(facilitatorRowId, elapsed() + checkMs)
    let open: PaymentRow[] = []
    let after = 0
    do {
      open = await store.openPayments(facilitatorRowId, after)
      const due = open.filter(({ created_at, transaction_status: status }) => {
        const leastMs = status !== null && isUnmined(status) ? unminedCheckMs : checkMs
        return now() - Date.parse(created_at) >= leastMs
      })
      await Promise.all(due.map((row) => this.#conclude(row)))
      after = open.at(-1)?.row_id ?? after
    } while (open.length > 0)
    return after > 0 ? checkMs : undefined
  }

  async leave(facilitatorRowId: number): Promise<void> {
    this.#nextAt.delete(facilitatorRowId)
  }

  async #conclude(row: PaymentRow): Promise<void> {
    const { store, networkClient } = this.#context
    const facilitator = await store.facilitatorByRowId(row.facilitator_row_id)
    const client = facilitator && (await networkClient(await nodesOf(store, row, facilitator)))
    if (client) await concludePayment(this.#context, client, row)
  }
}
