import pLimit from 'p-limit'
import { ApiError, relayerNotFound, statusOf } from '../core/errors.ts'
import { inOrder } from '../core/in-order.ts'
import type { Handlers } from '../core/operation.ts'
import { RpcError } from '../evm/rpc.ts'
import { revertDataOf } from '../evm/rpc-error.ts'
import { createBudget } from './budget.ts'
import { idOf, invalid, readCall } from './call.ts'
import type { Context, JsonRpcDependencies, Method, Request } from './context.ts'
import { codes, errorObject, JsonRpcError, methodNotFound } from './errors.ts'
import { hashMethods } from './hash-aliases.ts'
import { createAskNode, readingMethods } from './reading.ts'
import { sendingMethods } from './sending.ts'
import { signingMethods } from './signing.ts'

type Answer = Exclude<Awaited<ReturnType<Handlers['callJsonRpc']>>, unknown[] | undefined>

const max_calls = 1_000
/** Of one batch. Calls of nodes have a separate limit (turns.ts). */
const calls_at_once = 8

/** The JSON-RPC endpoint of a relayer: a table of methods, each of which is an operation of the contract or a call of a node. */
export function jsonRpc(dependencies: JsonRpcDependencies): Pick<Handlers, 'callJsonRpc'> {
  const { keyring, countCalls, unexpected } = dependencies
  const askNode = createAskNode(dependencies)
  const methods = new Map<string, Method>(
    Object.entries({
      ...readingMethods(dependencies, askNode),
      ...hashMethods(dependencies, askNode),
      ...signingMethods(dependencies),
      ...sendingMethods(dependencies),
    }),
  )

  const told = (error: unknown) => {
    const object = errorObject(error, ({ cause }) => revertIn(cause) ?? '0x')
    if (object) return object
    unexpected(error)
    return { code: codes.internal, message: 'Internal error' }
  }

  /** Undefined for a notification. */
  async function answer(
    member: unknown,
    parts: Omit<Context, 'id' | 'method' | 'params' | 'as'>,
  ): Promise<Answer | undefined> {
    const id = idOf(member)
    const outcome = await run(member, parts).then(
      (result) => ({ result }),
      (error) => ({ error: told(error) }),
    )
    return id === undefined ? undefined : { jsonrpc: '2.0', id, ...outcome }
  }

  async function run(member: unknown, parts: Omit<Context, 'id' | 'method' | 'params' | 'as'>): Promise<unknown> {
    const call = readCall(member)
    const method = methods.get(call.method)
    if (!method) throw methodNotFound(call.method)
    return method({ ...parts, ...call, as: asOperation(parts.request) })
  }

  const asOperation =
    (request: Request): Context['as'] =>
    async (operation, status, work) => {
      await request.authorize(operation)
      const { auditEntry, end } = request.beginAudit(operation)
      try {
        const result = await work(auditEntry)
        end(status)
        return result
      } catch (error) {
        end(error instanceof ApiError ? statusOf[error.code] : error instanceof JsonRpcError ? error.status : 500)
        throw error
      }
    }

  return {
    async callJsonRpc(request) {
      const held = await keyring.find(request.path.relayer_id)
      if (!held) throw relayerNotFound(request.path.relayer_id)
      const parts = { relayer: held.relayer, request, inOrder: inOrder(), onClose: gather(request) }
      const { body } = request
      if (!Array.isArray(body)) return answer(body, { ...parts, index: undefined })
      if (body.length === 0 || body.length > max_calls)
        return refusal(invalid(`a batch must have 1 to ${max_calls} calls; it has ${body.length}`))
      await countCalls(request.caller, body.length - 1)
      const spend = createBudget()
      const answers = await pLimit(calls_at_once).map(body, async (member, index) => {
        const one = await answer(member, { ...parts, index })
        return one && spend(one)
      })
      const given = answers.filter((one) => one !== undefined)
      return given.length === 0 ? undefined : given
    },
  }
}

/** One listener for all calls of a request. */
function gather(request: Request): Context['onClose'] {
  const callbacks: (() => void)[] = []
  return (callback) => {
    callbacks.push(callback)
    if (callbacks.length === 1) request.onClose(() => callbacks.forEach((each) => void each()))
  }
}

const refusal = ({ code, message }: JsonRpcError): Answer => ({ jsonrpc: '2.0', id: null, error: { code, message } })

/** The bytes of a revert; null: it reverts without bytes; undefined: the error is no revert. */
function revertIn(error: unknown): string | null | undefined {
  if (error instanceof RpcError) return revertDataOf(error.error)
  return typeof error === 'object' && error !== null ? revertDataOf(error) : undefined
}
