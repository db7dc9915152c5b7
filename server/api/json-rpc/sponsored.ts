import { orUnknown } from '../../chain/rpc.ts'
import { DomainError, errorOf, type Fault, wrongChainId } from '../../domain/errors.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import type { Handlers, OperationRequest } from '../../domain/operation.ts'
import type { TransactionRow } from '../../domain/transaction-rows.ts'
import { ask } from '../../services/accounts.ts'
import { callIdOf, findCall, sendCall, shownCallOf, sponsoredClient } from '../../services/sponsored-calls.ts'
import { WaitPlace } from '../../services/transactions/wait-for-status.ts'
import type { SponsorshipRow } from '../../store/queries/sponsorships.ts'
import { detailsOf } from '../http/errors.ts'
import { readIdempotency } from '../http/query.ts'
import { answerTo, checked, invalid, type JsonRpcDependencies, readCall, refusal, withAudit } from './context.ts'
import { type ErrorObject, errorObject, invalidParams, JsonRpcError, methodNotFound } from './errors.ts'
import { revertIn } from './json-rpc.ts'

type Request = OperationRequest<'callSponsoredJsonRpc'>
type Method = (context: { sponsorship: SponsorshipRow; request: Request; params: unknown[] }) => Promise<unknown>

/** The status of a call in relayer_getStatus. */
const statuses = { pending: 100, submitted: 110, succeeded: 200, rejected: 400, reverted: 500 } as const

const maxIds = 50
const feeValidS = 60
/** The native coin of the chain. */
const noAddress = `0x${'0'.repeat(40)}`
const coin = { address: noAddress, decimals: 18 }

interface MinedWait {
  ms: number
  place: WaitPlace
}

/** The JSON-RPC of a sponsorship, for its key: relayer_* of the published draft. */
export function sponsoredJsonRpc(service: JsonRpcDependencies): Pick<Handlers, 'callSponsoredJsonRpc'> {
  const { store, waits, shares, countCalls, contract, now, unexpected } = service

  /** The sponsorship of the caller's key, as it is now. Throws DomainError (403) for a page that it does not list. */
  async function sponsorshipOf(callerId: string, { header }: Request): Promise<SponsorshipRow> {
    const sponsorship = await store.sponsorshipOfKey(callerId)
    if (!sponsorship) throw errorOf('forbidden', 'api_key', 'this API key is not that of a sponsorship')
    const { Origin } = header
    if (Origin !== undefined && !sponsorship.origins.includes(Origin))
      throw errorOf('forbidden', 'origin', 'the sponsorship does not list this origin')
    return sponsorship
  }

  async function send(sponsorship: SponsorshipRow, request: Request, params: unknown[]) {
    const call = checked(contract, 'SendSponsoredCallRequest', readSend(membersIn(params), sponsorship.chain_id))
    const idempotency = readIdempotency(request.header['Idempotency-Key'], request.caller)
    return withAudit(request, 'sendSponsoredCall', { status: 201 }, async ({ auditEntry, authorize }) => {
      auditEntry.sponsorship_id = sponsorship.id
      const mayUse = async () => sponsorshipOf((await authorize()).id, request)
      const asker = { idempotency, auditEntry, nodes: request.nodes, authorize: mayUse }
      const { id } = await sendCall(service, asker, sponsorship, call)
      return callIdOf(id)
    })
  }

  const find = async (sponsorship: SponsorshipRow, id: unknown): Promise<TransactionRow> => {
    const found = typeof id === 'string' ? await findCall(service, sponsorship, id) : undefined
    if (!found) throw new JsonRpcError(relayerCodes.unknown_id, 'no call has this id')
    return found
  }

  async function statusOfCall(nodes: NodeAccess, sponsorship: SponsorshipRow, id: unknown) {
    const row = await find(sponsorship, id)
    const { id: callId, status, hash, error, created_at } = shownCallOf(sponsorship, row)
    const base = {
      ...{ id: callId, chainId: `${sponsorship.chain_id}` },
      createdAt: Math.floor(Date.parse(created_at) / 1_000),
    }
    const isMined = status === 'succeeded' || status === 'reverted'
    const receipt = isMined ? await receiptOf(nodes, sponsorship, hash) : null
    // The service knows of the block before every node does.
    const shown = isMined && receipt === null ? 'submitted' : status
    return {
      ...{ ...base, status: statuses[shown] },
      ...(shown === 'submitted' && { hash }),
      ...(shown === 'rejected' && { message: error?.message ?? 'not executed' }),
      ...(shown === 'reverted' && { message: error?.message ?? 'reverted', data: error?.revert_data ?? '0x' }),
      ...(receipt !== null && { receipt }),
    }
  }

  async function receiptOf(nodes: NodeAccess, sponsorship: SponsorshipRow, hash: string | null): Promise<unknown> {
    const { passOn } = await sponsoredClient(service, nodes, sponsorship)
    // The other calls that were asked for do not fail with it.
    return (await passOn('eth_getTransactionReceipt', [hash]).catch(orUnknown)) ?? null
  }

  /** Undefined: not yet. */
  async function untilMined(nodes: NodeAccess, sponsorship: SponsorshipRow, id: string, wait: MinedWait) {
    const row = await find(sponsorship, id)
    await waits.until({ transaction_id: row.id, until: 'mined', wait_ms: wait.ms }, wait.place)
    const known = await statusOfCall(nodes, sponsorship, id)
    return known.status === statuses.pending || known.status === statuses.submitted ? undefined : known
  }

  const methods = new Map<string, Method>(
    Object.entries<Method>({
      relayer_sendTransaction: ({ sponsorship, request, params }) => send(sponsorship, request, params),

      async relayer_sendTransactionSync({ sponsorship, request, params }) {
        // Before anything is accepted.
        const wait = { ms: readWait(params), place: new WaitPlace(request, shares.waits) }
        const id = await send(sponsorship, request, params)
        const status = await untilMined(request.nodes, sponsorship, id, wait).catch(unexpected)
        if (status) return status
        throw new JsonRpcError(relayerCodes.timeout, 'the call is accepted, and its outcome is not known yet', id)
      },

      async relayer_getStatus({ sponsorship, request: { caller, nodes }, params }) {
        const [first] = params
        const ids = Array.isArray(first) ? first : typeof first === 'string' ? params : membersIn(params).id
        if (!Array.isArray(ids)) return statusOfCall(nodes, sponsorship, ids)
        if (ids.length > maxIds) throw invalidParams(`at most ${maxIds} ids`)
        await countCalls(caller, ids.length - 1)
        nodes.extend(ids.length - 1)
        return Promise.all(ids.map((id) => statusOfCall(nodes, sponsorship, id)))
      },

      relayer_getCapabilities: async ({ sponsorship: { chain_id } }) => ({
        [chain_id]: { feeCollector: noAddress, tokens: [coin] },
      }),

      async relayer_getFeeData({ sponsorship, request: { nodes }, params }) {
        const { chainId, token = noAddress } = membersIn(params)
        checkChain(chainId, sponsorship.chain_id)
        if (token !== noAddress)
          throw new JsonRpcError(relayerCodes.unsupported_payment, 'fees are told in the coin of the chain only')
        const market = await ask((await sponsoredClient(service, nodes, sponsorship)).market())
        const price = market.kind === 'legacy' ? market.gas_price : market.base_fee + market.tips.average
        const expiry = Math.floor(now() / 1_000) + feeValidS
        return { chainId: `${sponsorship.chain_id}`, gasPrice: `${price}`, rate: 1, expiry, token: coin }
      },
    }),
  )

  async function run(request: Request): Promise<unknown> {
    const { body, caller } = request
    const { params: given } = body as { params?: unknown }
    const isList = Array.isArray(given) || given === undefined
    const call = readCall(isList ? body : { ...(body as object), params: [given] })
    const method = methods.get(call.method)
    if (!method) throw methodNotFound(call.method)
    const sponsorship = await sponsorshipOf(caller.id, request)
    return method({ sponsorship, request, params: call.params })
  }

  return {
    async callSponsoredJsonRpc(request) {
      const { body } = request
      if (Array.isArray(body)) return refusal(invalid('send one call; batches are not read here'))
      const tell = (error: unknown) => sponsoredError(error) ?? errorObject(error, () => undefined)
      return answerTo(body, unexpected, tell, () => run(request))
    },
  }
}

/** Undefined for an error that has no code of its own in relayer_*. */
function sponsoredError(error: unknown): ErrorObject | undefined {
  if (!(error instanceof DomainError)) return undefined
  const { code, cause } = error
  const details = detailsOf(error)
  const message = details.map((detail) => detail.message).join('; ')
  const { of, field: [member, rule] = [] }: Partial<Fault> = error.faults[0] ?? {}
  if (code === 'execution_reverted') return { code: relayerCodes.would_revert, message, data: revertIn(cause) ?? '0x' }
  if (code === 'policy_violation') {
    const isBudget =
      of === 'sponsorship' && (member === 'max_fee_per_day' || (member === 'user_limits' && rule !== undefined))
    return { code: isBudget ? relayerCodes.budget_used : relayerCodes.not_allowed, message, data: { code, details } }
  }
  if (of === 'input' && member === 'authorization_list')
    return { code: relayerCodes.invalid_authorization, message, data: { code, details } }
  return undefined
}

type Members = Record<string, unknown>

/** The codes of the relayer_* draft (github.com/ethereum/ERCs, pull request 1716) and of the clients in use. */
const relayerCodes = {
  timeout: -32070,
  not_allowed: 4100,
  unsupported_payment: 4202,
  budget_used: 4205,
  other_chain: 4206,
  unknown_id: 4208,
  invalid_authorization: 4210,
  would_revert: 4211,
} as const

const usualWaitMs = 10_000
const maxWaitMs = 60_000

/** The members of the first parameter. Throws JsonRpcError. */
const membersIn = ([first]: unknown[]): Members => membersOf(first, 'params')

/** Throws JsonRpcError. */
function membersOf(given: unknown, name: string): Members {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw invalidParams(`${name} must be an object`)
  return given as Members
}

/** What clients send that changes nothing here: every call is simulated, and gas is estimated. */
const withoutEffect = ['context', 'gas', 'skipSimulation', 'timeout']
const known = new Set(['chainId', 'to', 'data', 'authorizationList', 'payment', ...withoutEffect])

/** The call in the contract's form; its schema checks the members. Throws JsonRpcError. */
function readSend(members: Members, ownChainId: number): unknown {
  const { chainId, to, data, authorizationList, payment } = members
  const unknown = Object.keys(members).find((name) => !known.has(name))
  if (unknown !== undefined) throw invalidParams(`${/^\w{1,40}$/.test(unknown) ? unknown : 'a member'} is not known`)
  checkChain(chainId, ownChainId)
  if (payment !== undefined && payment !== null && membersOf(payment, 'payment').type !== 'sponsored')
    throw new JsonRpcError(relayerCodes.unsupported_payment, 'payment must be {"type": "sponsored"}')
  const hasAuthorization = authorizationList !== undefined && authorizationList !== null
  if (hasAuthorization && !Array.isArray(authorizationList)) throw invalidParams('authorizationList must be an array')
  const authorizations = hasAuthorization ? authorizationList.map(authorizationIn) : []
  return {
    ...{ to, data },
    ...(authorizations.length > 0 && { authorization_list: authorizations }),
  }
}

/** The member names of JSON-RPC for those of the contract. */
const authorizationIn = (given: unknown): unknown => {
  const { chainId, address, nonce, r, s, yParity } = membersOf(given, 'each of authorizationList')
  const numbers = { chain_id: numberOrGiven(chainId), nonce: numberOrGiven(nonce), y_parity: numberOrGiven(yParity) }
  return { ...numbers, address, r, s }
}

/** A number, or one as hex of up to 32 bytes; anything else stays as it is, for the schema to refuse. */
const numberOrGiven = (value: unknown): unknown =>
  typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value) ? Number(value) : value

/** Throws JsonRpcError. */
function checkChain(given: unknown, chainId: number): void {
  if (typeof given !== 'string' || !/^[0-9]{1,16}$/.test(given))
    throw invalidParams('chainId must be a decimal text, for example "1"')
  if (given !== `${chainId}`)
    throw new JsonRpcError(relayerCodes.other_chain, `chainId ${wrongChainId(chainId, BigInt(given))}`)
}

/** How long relayer_sendTransactionSync waits. Throws JsonRpcError. */
function readWait(params: unknown[]): number {
  const { timeout = usualWaitMs } = membersIn(params)
  if (typeof timeout !== 'number' || !(timeout >= 0 && timeout <= maxWaitMs))
    throw invalidParams(`timeout must be 0 to ${maxWaitMs} milliseconds`)
  return timeout
}
