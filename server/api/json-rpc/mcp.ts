import { createHash } from 'node:crypto'
import type { CallToolResult, JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { FunctionFragment } from 'ethers/abi'
import type { JsonRpcAnswer } from '../../../generated/openapi.ts'
import { decodeAbi, readAbiEntry } from '../../domain/decoding/abi.ts'
import { encodeCall } from '../../domain/decoding/contract-call.ts'
import { badRequest, DomainError } from '../../domain/errors.ts'
import type { Handlers, OperationId, OperationRequest } from '../../domain/operation.ts'
import { authorizationTypes, networkOf } from '../../domain/payments.ts'
import { sorted } from '../../domain/revision.ts'
import { callNode } from '../../services/accounts.ts'
import { signPayment } from '../../services/signing/requests.ts'
import { type Detail, toFailure } from '../http/errors.ts'
import { RequestViolations } from '../http/violation.ts'
import { AnswerSize } from './answer-size.ts'
import { type Authorized, checked, type JsonRpcDependencies, partsOf, withAudit } from './context.ts'
import { codes, JsonRpcError } from './errors.ts'
import { asNodes } from './reading.ts'

/* The Model Context Protocol. The SDK speaks it; each tool of the contract (`x-tools`) is an operation, with its rights and audit entry. */

type Request = Omit<OperationRequest<'callMcp'>, 'path'>

/** `as`: carries out an operation on the relayer of the arguments, with an audit entry of its own. */
interface ToolCall {
  args: Arguments
  request: Request
  dependencies: JsonRpcDependencies
  as<T>(operation: OperationId, status: number, work: (parts: Parts) => Promise<T>): Promise<T>
}

/** Of all tools; the contract's schemas check which a tool has. */
interface Arguments {
  relayer_id: string
  to: string
  function?: string
  arguments?: unknown[]
  value?: string
  request_id: string
  wait_seconds?: number
  transaction_id: string
  requirements: Requirements
}

/** Of an x402 payment, scheme `exact` on EVM. */
interface Requirements {
  network: string
  asset: string
  amount: string
  payTo: string
  maxTimeoutSeconds: number
  extra: { name: string; version: string }
}

type Parts = ReturnType<typeof partsOf> & Authorized

const defaultWaitSeconds = 10

const tools: Record<string, (call: ToolCall) => Promise<unknown>> = {
  get_budget: ({ as, dependencies }) =>
    as('getOwnApiKey', 200, (parts) => dependencies.operations.getOwnApiKey(parts as never)),

  get_balance: ({ as, dependencies }) =>
    as('getRelayerBalance', 200, (parts) => dependencies.operations.getRelayerBalance({ ...parts, body: undefined })),

  get_transaction: ({ as, args, dependencies }) =>
    as('getRelayerTransaction', 200, ({ path, ...parts }) =>
      dependencies.operations.getRelayerTransaction({
        ...parts,
        path: { ...path, transaction_id: args.transaction_id },
        body: undefined,
      }),
    ),

  simulate: ({ as, args, dependencies }) =>
    as('dryRunTransaction', 200, (parts) =>
      dependencies.operations.dryRunTransaction({ ...parts, body: bodyOf(dependencies, args) }),
    ),

  send_call: ({ as, args, request, dependencies }) =>
    as('sendTransaction', 201, (parts) =>
      dependencies.operations.sendTransaction({
        ...parts,
        query: { wait: 'mined', wait_seconds: args.wait_seconds ?? defaultWaitSeconds },
        body: bodyOf(dependencies, args),
        idempotency: { caller: request.caller.id, key: args.request_id },
      }),
    ),

  async read_contract({ as, args, dependencies }) {
    const text = (args.function as string).trim().replace(/^function\s+/, '')
    const entry = readAbiEntry(`function ${text}`, ['function']) as FunctionFragment
    const { data } = encodeCall({ function: entry.format('sighash'), args: args.arguments ?? [] }, '0')
    const call = { method: 'eth_call', params: [{ to: args.to, data }, 'latest'] }
    const answer = await as('getRelayerStatus', 200, ({ nodes }) =>
      callNode(dependencies, nodes, args.relayer_id, call),
    )
    if (answer.error) throw asNodes(answer.error)
    try {
      return { results: decodeAbi(entry.outputs, String(answer.result).slice(2)) }
    } catch {
      throw badRequest(['function'], `has other results, or ${args.to} has no such function`)
    }
  },

  sign_payment: ({ as, args, request, dependencies }) =>
    as('signTypedData', 200, async ({ auditEntry, authorize }) => {
      const { contract, keyring, now } = dependencies
      const { relayer_id, request_id, requirements } = args
      const { address, chain_id } = await keyring.findRelayer(relayer_id)
      const { network, asset, amount, payTo, maxTimeoutSeconds, extra } = requirements
      const own = networkOf(chain_id)
      if (network !== own)
        throw badRequest(['requirements', 'network'], `must be ${own}, as the relayer's network has it`)
      const payment = {
        // One payment has one nonce: the token takes it once.
        nonce: `0x${hashOfJson([request.caller.id, relayer_id, request_id])}`,
        request_hash: hashOfJson(requirements),
        valid_before: Math.floor(now() / 1_000) + maxTimeoutSeconds,
      }
      const documentOf = (validBefore: number) => ({
        domain: { name: extra.name, version: extra.version, chainId: chain_id, verifyingContract: asset },
        types: authorizationTypes,
        primaryType: 'TransferWithAuthorization',
        message: {
          ...{ from: address, to: payTo, value: amount, validAfter: '0' },
          ...{ validBefore: `${validBefore}`, nonce: payment.nonce },
        },
      })
      checked(contract, 'SignTypedDataRequest', documentOf(payment.valid_before))
      const asker = { relayer_id, auditEntry, authorize }
      const { document, signature } = await signPayment(dependencies, asker, payment, documentOf)
      const payload = { signature: signature.sig, authorization: document.message }
      const signed = { x402Version: 2, accepted: requirements, payload }
      return { ...signed, payment_signature: Buffer.from(JSON.stringify(signed)).toString('base64') }
    }),
}

const hashOfJson = (value: unknown): string => createHash('sha256').update(JSON.stringify(value, sorted)).digest('hex')

const bodyOf = (
  { contract }: JsonRpcDependencies,
  { to, value = '0', function: name, arguments: args = [] }: Arguments,
) =>
  checked(contract, 'SendTransactionRequest', {
    to,
    value,
    ...(name !== undefined && { call: { function: name, args } }),
  })

export function mcp(dependencies: JsonRpcDependencies): Pick<Handlers, 'callMcp'> {
  const { contract, unexpected } = dependencies
  const declared = contract.paths['/api/v1/mcp']?.post?.['x-tools'] ?? {}
  const names = Object.keys(declared).join(', ')
  let violations: RequestViolations | undefined

  async function run(request: Request, name: string, given: unknown): Promise<CallToolResult> {
    const tool = Object.hasOwn(declared, name) ? declared[name] : undefined
    const work = tools[name]
    if (!tool || !work) return toolError(`there is no tool ${name.slice(0, 100)}; the tools are ${names}`)
    violations ??= new RequestViolations(contract)
    const faults = violations.of(tool.inputSchema, given, '/arguments')
    if (faults.length > 0) return toolError(`Bad Request: ${linesOf(faults)}`)
    const args = given as Arguments
    const as: ToolCall['as'] = (operation, status, carryOut) => {
      const authorizeFor = (id: OperationId) => request.authorizeFor(id, args.relayer_id)
      const here = { ...request, authorizeFor }
      return withAudit(here, operation, { status, relayer_id: args.relayer_id }, (its) =>
        carryOut({ ...partsOf({ relayer: { id: args.relayer_id }, request: here }), ...its }),
      )
    }
    try {
      const result = (await work({ args, request, dependencies, as })) as CallToolResult['structuredContent']
      return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result }
    } catch (error) {
      if (error instanceof JsonRpcError) return toolError(error.message)
      if (!(error instanceof DomainError)) unexpected(error)
      const { caller, auditEntry } = request
      const { code, message, details = [] } = toFailure(error, { caller, request_id: auditEntry.request_id ?? '' }).body
      return {
        ...toolError([message, linesOf(details)].filter(Boolean).join(': ')),
        structuredContent: { code, message, details },
      }
    }
  }

  return {
    async callMcp(request) {
      const sdk = await loadSdk()
      const server = new sdk.Server(
        { name: 'evm-relayer-service', version: contract.info.version },
        { capabilities: { tools: {} } },
      )
      server.setRequestHandler(sdk.ListToolsRequestSchema, () => ({
        tools: Object.entries(declared).map(([name, tool]) => ({ name, ...tool })),
      }))
      server.setRequestHandler(sdk.CallToolRequestSchema, ({ params }) =>
        run(request, params.name, params.arguments ?? {}),
      )
      const [near, far] = sdk.InMemoryTransport.createLinkedPair()
      await server.connect(far)
      const { promise: answered, resolve } = Promise.withResolvers<JsonRpcAnswer>()
      near.onmessage = (message) => resolve(message as JsonRpcAnswer)
      // The SDK answers no message that it cannot read, such as a request with other members, and repeats the message in its error.
      server.onerror = () => resolve({ jsonrpc: '2.0', id: null, error: unreadable })
      await near.send(request.body as JSONRPCMessage)
      if (request.body.id === undefined) return undefined
      return new AnswerSize(request.holdAnswer).limit(await answered)
    },
  }
}

const unreadable = {
  code: codes.invalid_request,
  message: 'must be a request or a notification of MCP, and nothing else',
}

const linesOf = (details: readonly Detail[]): string =>
  details
    .map(({ path, message, resets_at: until }) => `${path}: ${message}${until ? ` (until ${until})` : ''}`)
    .join('; ')

const toolError = (text: string): CallToolResult => ({ isError: true, content: [{ type: 'text', text }] })

/** It takes 90 ms, in short turns, and 30 MB, which a service without agents does without. */
async function loadSdk() {
  const [{ Server }, { InMemoryTransport }, { CallToolRequestSchema, ListToolsRequestSchema }] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/inMemory.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ])
  return { Server, InMemoryTransport, CallToolRequestSchema, ListToolsRequestSchema }
}
