import { createHash } from 'node:crypto'
import type {
  Authorization,
  SponsoredCall,
  Transaction,
  TransactionError,
  TransactionErrorCode,
  TransactionStatus,
} from '../../generated/openapi.ts'
import { type NetworkClient, requireClient } from '../chain/chains.ts'
import { authorityOf } from '../domain/decoding/transaction.ts'
import type { Effect } from '../domain/effect.ts'
import { toHex } from '../domain/encoding/digest.ts'
import { badRequest, poolBehindIsEmpty, poolNotFound, relayerNotFound } from '../domain/errors.ts'
import type { NewTransaction } from '../domain/new-transaction.ts'
import type { NodeAccess } from '../domain/node-access.ts'
import type { Idempotency } from '../domain/operation.ts'
import { transactionError } from '../domain/outcome.ts'
import { feeOf } from '../domain/policies/fee-policies.ts'
import {
  type AskedCall,
  checkDelegate,
  checkReceivers,
  exclusiveKeyOf,
  judgeCall,
  refusedCall,
  sponsoredSpending,
  valueSpending,
} from '../domain/policies/sponsored-calls.ts'
import type { PoolRow, RelayerRow } from '../domain/rows.ts'
import { shownTransaction } from '../domain/show.ts'
import { isFinal } from '../domain/statuses.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import { readAddress } from '../domain/values.ts'
import type { SponsorshipRow } from '../store/queries/sponsorships.ts'
import { ask } from './accounts.ts'
import type { ServicesContext } from './context.ts'
import type { TransactionQuote } from './transactions/quote.ts'
import {
  type Asker,
  type Complete,
  hashOfBody,
  send,
  type TransactionsContext,
  unwrapReplay,
} from './transactions/send.ts'
import { sendToPool } from './transactions/send-to-pool.ts'

/** A call as callers give it. `user`: whose plain call it is, by the word of a server. */
interface GivenCall {
  to: string
  data: string
  authorization_list?: Authorization[]
  user?: string | null
}

type CallContext = Pick<ServicesContext, 'store' | 'keyring' | 'chains'>

/** The relayers that send the calls. Throws DomainError (404) when the relayer, or the pool, was deleted. */
async function sendersOf(
  { store, keyring }: Pick<CallContext, 'store' | 'keyring'>,
  { relayer_id, relayer_row_id, pool_id, pool_row_id }: SponsorshipRow,
) {
  if (relayer_id !== null) {
    const relayer = await keyring.findRelayer(relayer_id)
    if (relayer.row_id !== relayer_row_id) throw relayerNotFound(relayer_id)
    return { pool: undefined, relayers: [relayer] as [RelayerRow] }
  }
  const pool = await store.getPool(pool_id as string)
  if (pool?.row_id !== pool_row_id) throw poolNotFound()
  if (pool.relayers.every(({ weight }) => weight === 0)) throw poolBehindIsEmpty()
  const relayers = await Promise.all(pool.relayers.map(({ relayer_id }) => keyring.findRelayer(relayer_id)))
  return { pool, relayers: relayers as [RelayerRow, ...RelayerRow[]] }
}

/** The nodes of the network that the calls are sent on. */
export async function sponsoredClient(
  context: CallContext,
  nodes: NodeAccess,
  sponsorship: SponsorshipRow,
): Promise<NetworkClient> {
  const { relayers } = await sendersOf(context, sponsorship)
  return requireClient(context.chains, nodes, relayers[0])
}

/**
 * Accepts a call. The asker's key is for plain calls, which are not known by a signature. Throws DomainError: 400 for a call that would
 * revert, 403 for one that is not paid for.
 */
export async function sendCall(
  context: TransactionsContext & CallContext,
  asker: Asker<SponsorshipRow>,
  sponsorship: SponsorshipRow,
  call: GivenCall,
): Promise<Transaction> {
  const { store, now } = context
  const { auditEntry, nodes, idempotency: given } = asker
  const asked: AskedCall = {
    to: readAddress(call.to, ['to']),
    data: `0x${call.data.replace(/^0x/, '').toLowerCase()}`,
    authorization: call.authorization_list?.[0],
  }
  const own = ownKey(sponsorship, asked)
  const { pool, relayers } = await sendersOf(context, sponsorship)
  const known = pool ? await store.replayInPool(pool.row_id, own) : await store.replay(relayers[0].row_id, own)
  if (known && known.outcome !== 'mismatch') return unwrapReplay(known, auditEntry)

  const isRelayer = async (address: string) => (await store.relayersOn(address)).length > 0
  const judged = judgeCall(sponsorship, asked, now())
  const { kind, signed } = judged
  await checkReceivers(judged, isRelayer)
  if (call.user != null && kind !== 'plain')
    throw badRequest(['user'], 'cannot be given here: the signature says whose call it is')
  const user = call.user == null ? judged.user : readAddress(call.user, ['user'])
  // An early check, before the chain is asked. The commit counts.
  sponsoredSpending(sponsorship.row_id, sponsorship, user)
  if (sponsorship.paused) throw refusedCall('paused', 'the sponsorship is paused')
  const account = kind === 'account' ? await checkAccount(context, nodes, sponsorship, asked) : undefined
  const effect = account?.effect ?? (kind === 'forward' ? forwardedBy(asked.to, judged.user as string) : undefined)
  const asCalled = { judged, user, effect, delegate: account?.delegate }

  let [current, currentPool] = [sponsorship, pool]
  const complete: Complete = (transaction, quote, relayer) =>
    payFor({ ...asCalled, sponsorship: current, sender: { relayer, pool: currentPool } }, transaction, quote)
  const authorize = async () => {
    current = await asker.authorize()
    if (current.paused) throw refusedCall('paused', 'the sponsorship is paused')
    await checkReceivers(judgeCall(current, asked, now()), isRelayer)
    currentPool = pool && ((await store.getPool(pool.id)) ?? pool)
    return currentPool
  }
  const { to, data } = asked
  const body = { to, data, ...(account?.authorization && { authorization_list: [account.authorization] }) }
  const named = user === null ? body : { ...body, user }
  const idempotency = signed ? own : given && keyOfUser(given, user, hashOfBody(named))
  if (pool) {
    const inPool = { nodes, auditEntry, idempotency, authorize: async () => (await authorize()) ?? pool }
    return sendToPool(context, inPool, pool, { body, complete })
  }
  auditEntry.relayer_id = relayers[0].id
  return send(context, { nodes, auditEntry, idempotency, authorize }, relayers[0].id, { body, complete })
}

/** What a sponsorship pays for, and who sends it. */
interface PaidCall {
  sponsorship: SponsorshipRow
  judged: ReturnType<typeof judgeCall>
  user: string | null
  effect: Effect | undefined
  delegate: string | undefined
  sender: { relayer: RelayerRow; pool: PoolRow | undefined }
}

/** The transaction of a call, at the cost of its sponsorship. Throws DomainError (403). */
function payFor(
  { sponsorship, judged, user, effect, delegate, sender }: PaidCall,
  transaction: NewTransaction,
  quote: TransactionQuote,
): NewTransaction {
  const { gas_limit, data_fee } = quote
  const { max_gas_per_call, max_fee_per_call, row_id } = sponsorship
  if (gas_limit > max_gas_per_call)
    throw refusedCall('max_gas_per_call', `needs ${gas_limit} gas, above the limit of ${max_gas_per_call}`)
  const fee = feeOf(quote)
  if (fee > BigInt(max_fee_per_call))
    throw refusedCall('max_fee_per_call', `a fee of up to ${fee} wei is above the limit of ${max_fee_per_call} wei`)
  const spending = sponsoredSpending(row_id, sponsorship, user)
  const moved = valueSpending(sender, judged.value)
  return {
    ...transaction,
    valid_until: judged.valid_until,
    // The fee that is counted is that of this gas limit.
    gas_is_given: true,
    fee_ceiling: `${(BigInt(max_fee_per_call) - data_fee) / BigInt(gas_limit)}`,
    spending: [...(transaction.spending ?? []), ...spending, ...moved],
    sponsored: {
      sponsorship_row_id: row_id,
      user,
      charge: max_fee_per_call,
      holders: spending.flatMap(({ asset, holder }) => (asset === 'fee' && holder !== undefined ? holder : [])),
      exclusive_key: exclusiveKeyOf(sponsorship, judged, delegate),
      ...(effect && { effect }),
    },
  }
}

/** Undefined: it is no call of this sponsorship. */
export async function findCall(
  { store }: Pick<CallContext, 'store'>,
  sponsorship: SponsorshipRow,
  callId: string,
): Promise<TransactionRow | undefined> {
  const id = transactionIdOf(callId)
  return id === undefined ? undefined : store.getTransactionOfSponsorship(sponsorship.row_id, id)
}

/**
 * What a call of an account needs: the code that it runs already, or the authorization to send with it; and its effect. Throws DomainError
 * (400, 403).
 */
async function checkAccount(
  context: CallContext,
  nodes: NodeAccess,
  sponsorship: SponsorshipRow,
  { to, authorization }: AskedCall,
): Promise<{ effect: Effect; delegate?: string | undefined; authorization?: Authorization }> {
  const { callers } = await sponsoredClient(context, nodes, sponsorship)
  const delegate = delegation.exec(toHex(await ask(callers.code(to))))?.[1]
  const runs = delegate === undefined ? undefined : `0x${delegate}`
  if (!authorization) return { effect: delegatedTo(to, checkDelegate(sponsorship, to, runs)), delegate: runs }
  const wanted = authorization.address.toLowerCase()
  checkDelegate(sponsorship, to, wanted)
  const place = ['authorization_list', 0]
  if (authorityOf(authorization) !== to) throw badRequest(place, 'must be signed by the account to')
  // Some chains refuse an authorization that changes nothing.
  const effect = delegatedTo(to, wanted)
  if (runs === wanted) return { effect, delegate: runs }
  const nonce = await ask(callers.latestNonce(to))
  if (authorization.nonce !== nonce)
    throw badRequest(
      [...place, 'nonce'],
      `must be ${nonce}, the present nonce of the account; it is ${authorization.nonce}`,
    )
  return { effect, authorization }
}
const delegatedTo = (account: string, delegate: string): Effect => ({ kind: 'delegated', account, delegate })
const forwardedBy = (forwarder: string, signer: string): Effect => ({ kind: 'forwarded', forwarder, signer })

/** EIP-7702: the code of an account that runs another contract's. */
const delegation = /^0xef0100([0-9a-f]{40})$/

/** Equal requests of users are one call, whichever door they come through. */
function ownKey({ row_id }: SponsorshipRow, { to, data, authorization }: AskedCall) {
  const content = JSON.stringify([
    to,
    data,
    authorization && [authorization.address.toLowerCase(), authorization.nonce],
  ])
  const key = createHash('sha256').update(content).digest('hex')
  return { caller: `sponsorship ${row_id}`, key, body_hash: key }
}

/** Users of one API key choose their keys without knowing of each other. */
const keyOfUser = ({ caller, key }: Idempotency, user: string | null, bodyHash: string): Idempotency => ({
  ...{ key, body_hash: bodyHash },
  caller: user === null ? caller : `${caller} ${user}`,
})

const idZeros = '0'.repeat(32)

/** The id of a call: that of its transaction, a UUID, as the last 16 of 32 bytes. */
export const callIdOf = (transactionId: string): string => `0x${idZeros}${transactionId.replaceAll('-', '')}`

function transactionIdOf(callId: string): string | undefined {
  const [, a, b, c, d, e] =
    /^0x0{32}([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(callId.toLowerCase()) ?? []
  return a === undefined ? undefined : [a, b, c, d, e].join('-')
}

/** The errors of a transaction that is in a block. */
const ofExecution: ReadonlySet<TransactionErrorCode | undefined> = new Set([
  'reverted',
  'out_of_gas',
  'not_delegated',
  'not_forwarded',
])

/** A transaction as the call that it carries out. */
export function shownCallOf({ id: sponsorshipId }: Pick<SponsorshipRow, 'id'>, row: TransactionRow): SponsoredCall {
  const shown = shownTransaction({ ...row, data: null })
  const { id, network, relayer_id, receipt, error, hash, created_at, status_reason } = shown
  const isReverted =
    receipt !== null && (ofExecution.has(error?.code) || (row.status === 'failed' && row.intent === 'send'))
  const status = isReverted ? 'reverted' : callStatusOf(row)
  return {
    id: callIdOf(id),
    sponsorship_id: sponsorshipId,
    network,
    transaction_id: id,
    relayer_id,
    user: row.sponsored?.user ?? null,
    status,
    hash,
    fee: receipt?.fee ?? null,
    error: error ?? (status === 'rejected' ? endedAs(row.status, status_reason) : null),
    created_at,
  }
}

/** Of a transaction that ended without an error. */
const endedAs = (status: TransactionStatus, reason: string | null): TransactionError =>
  transactionError(status === 'canceled' || status === 'expired' ? status : 'other', reason ?? status)

function callStatusOf({ status, wait_reason }: TransactionRow): Exclude<SponsoredCall['status'], 'reverted'> {
  // In a block, and no node shows what it did there.
  if (status === 'mined' && wait_reason === 'awaiting_quorum') return 'submitted'
  if (status === 'mined' || status === 'confirmed') return 'succeeded'
  // Its nonce may be used by a transaction that is in a block: the cancellation.
  if (isFinal(status)) return 'rejected'
  return status === 'submitted' ? 'submitted' : 'pending'
}
