import pLimit from 'p-limit'
import type { JsonRpcAnswer as Answer } from '../../../generated/openapi.ts'
import { RpcError } from '../../chain/rpc.ts'
import { revertDataOf } from '../../chain/rpc-error.ts'
import { errorOf, poolIsEmpty, relayerNotFound } from '../../domain/errors.ts'
import type { Caller, Handlers } from '../../domain/operation.ts'
import type { PoolRow, RelayerRow } from '../../domain/rows.ts'
import { SerialQueue } from '../../lib/in-order.ts'
import { findPool } from '../../services/pools.ts'
import { WaitPlace } from '../../services/transactions/wait-for-status.ts'
import { AnswerSize } from './answer-size.ts'
import {
  answerTo,
  type Context,
  invalid,
  type JsonRpcDependencies,
  type Method,
  type Request,
  readCall,
  refusal,
  withAudit,
} from './context.ts'
import { errorObject, methodNotFound } from './errors.ts'
import { hashMethods, readingMethods } from './reading.ts'
import { sendingMethods } from './sending.ts'
import { signingMethods } from './signing.ts'
import { relayerOf } from './transaction-object.ts'

const maxCalls = 1_000
/** Of one batch. Calls of nodes have a separate limit (reading.ts). */
const callsAtOnce = 8

/** What a request is sent to: a relayer, or a pool. */
interface Endpoint {
  relayers: RelayerRow[]
  pool: PoolRow | undefined
  /** Throws DomainError when the caller has lost the right to it. */
  check(caller: Caller): Promise<unknown>
}

type OfRequest = Omit<Context, 'id' | 'method' | 'params' | 'as' | 'by'> & Endpoint

/** The JSON-RPC endpoint of a relayer or a pool: a table of methods, each of which is an operation of the contract or a call of a node. */
export function jsonRpc(dependencies: JsonRpcDependencies): Pick<Handlers, 'callRelayerJsonRpc' | 'callPoolJsonRpc'> {
  const { keyring, shares, countCalls, unexpected } = dependencies
  const methods = new Map<string, Method>(
    Object.entries({
      ...readingMethods(dependencies),
      ...hashMethods(dependencies),
      ...signingMethods(dependencies),
      ...sendingMethods(dependencies),
    }),
  )

  const answer = (member: unknown, parts: OfRequest): Promise<Answer | undefined> =>
    answerTo(
      member,
      unexpected,
      (error) => errorObject(error, ({ cause }) => revertIn(cause) ?? '0x'),
      () => run(member, parts),
    )

  async function run(member: unknown, parts: OfRequest): Promise<unknown> {
    const call = readCall(member)
    const method = methods.get(call.method)
    if (!method) throw methodNotFound(call.method)
    const { request, relayers, pool, check } = parts
    const context: Context = {
      ...{ ...parts, ...call, as: asOperation(request, check, undefined) },
      by(account) {
        const relayer = relayerOf(account, relayers)
        if (!pool) return context
        const mayUse = async (caller: Caller) => {
          await check(caller)
          checkOwn(relayer, caller)
        }
        return { ...context, relayer, as: asOperation(request, mayUse, relayer) }
      },
    }
    return method(context)
  }

  const asOperation =
    (request: Request, check: Endpoint['check'], relayer: RelayerRow | undefined): Context['as'] =>
    (operation, status, work) =>
      withAudit(request, operation, { status, relayer_id: relayer?.id, check }, work)

  /** One place for all calls of a request. */
  function placeOf(request: Request): Context['place'] {
    let place: WaitPlace | undefined
    return () => {
      place ??= new WaitPlace(request, shares.waits)
      return place
    }
  }

  async function answerAll(request: Request, endpoint: Endpoint): Promise<Answer | Answer[] | undefined> {
    const [relayer] = endpoint.relayers
    if (!relayer) throw poolIsEmpty()
    const parts = {
      ...endpoint,
      relayer,
      request,
      inOrder: new SerialQueue(),
      patience: new Map<number, number>(),
      onClose: gather(request),
      place: placeOf(request),
    }
    const { body } = request
    const answerSize = new AnswerSize(request.holdAnswer)
    if (!Array.isArray(body)) {
      const one = await answer(body, { ...parts, index: undefined })
      return one && answerSize.limit(one)
    }
    if (body.length === 0 || body.length > maxCalls)
      return refusal(invalid(`a batch must have 1 to ${maxCalls} calls; it has ${body.length}`))
    await countCalls(request.caller, body.length - 1)
    request.nodes.extend(body.length - 1)
    const answers = await pLimit(callsAtOnce).map(body, async (member, index) => {
      const one = await answer(member, { ...parts, index })
      return one && answerSize.limit(one)
    })
    const given = answers.filter((one) => one !== undefined)
    return given.length === 0 ? undefined : given
  }

  return {
    async callRelayerJsonRpc(request) {
      const held = await keyring.find(request.path.relayer_id)
      if (!held) throw relayerNotFound(request.path.relayer_id)
      return answerAll(request, { relayers: [held.relayer], pool: undefined, check: async () => undefined })
    },

    async callPoolJsonRpc(request) {
      const { pool_id } = request.path
      const pool = await findPool(dependencies, pool_id, request.caller)
      const relayers = await Promise.all(pool.relayers.map(({ relayer_id }) => keyring.findRelayer(relayer_id)))
      return answerAll(request, { relayers, pool, check: (caller) => findPool(dependencies, pool_id, caller) })
    },
  }
}

/** Throws DomainError (403): a right to a pool is none to a signature by one of its relayers. */
function checkOwn({ id }: RelayerRow, { relayer_ids }: Caller): void {
  if (!relayer_ids || relayer_ids.has(id)) return
  const message = 'this API key may send through the pool, and may not use its relayers themselves'
  throw errorOf('forbidden', 'api_key', message)
}

/** One listener for all calls of a request. */
function gather(request: Request): Context['onClose'] {
  const callbacks: (() => void)[] = []
  return (callback) => {
    callbacks.push(callback)
    if (callbacks.length === 1) request.onClose(() => callbacks.forEach((each) => void each()))
  }
}

/** The bytes of a revert; null: it reverts without bytes; undefined: the error is no revert. */
export function revertIn(error: unknown): string | null | undefined {
  if (error instanceof RpcError) return revertDataOf(error.error)
  return typeof error === 'object' && error !== null ? revertDataOf(error) : undefined
}
