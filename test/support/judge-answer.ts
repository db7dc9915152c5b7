import { type ContractOperation, operationOf, parameterFault, requestFault, responseFault } from './contract.ts'
import type { TestRequest } from './request-arbitrary.ts'
import { mark } from './request-hints.ts'
import { type Answer, isStream } from './send-request.ts'

/** Describes how the answer contradicts the contract; undefined: it does not. */
export function judge(
  request: TestRequest,
  operation: ContractOperation | undefined,
  answer: Answer,
): string | undefined {
  const { status, headers, text } = answer
  const wrong = (what: string) => `${status} ${what}: ${text.slice(0, 500)}`
  // Where there is a GET there is a HEAD.
  const meant = request.method === 'HEAD' ? operationOf('GET', request.target) : operation
  if (status >= 500 && !(status === 503 && meant?.statuses.includes(503))) return wrong('is a failure of the server')
  if (isStream(answer)) {
    const begun = request.method === 'HEAD' ? '' : ': connected\n\n'
    return /^stream\w*Events$/.test(meant?.id ?? '') && text.startsWith(begun)
      ? undefined
      : wrong('is no stream of events')
  }
  if (status === 202 || status === 204)
    return text === '' && meant?.statuses.includes(status) ? undefined : wrong('is not expected')
  if (!/^application\/json(; charset=utf-8)?$/.test(headers['content-type'] ?? '')) return wrong('is not JSON')
  if (status === 400 && headers.date === undefined) return wrong('is of Node: it could not read the request')
  if (status === 401 && !headers['www-authenticate']) return wrong('without WWW-Authenticate')
  if (status === 405 && !headers.allow) return wrong('without Allow')
  const guarded = meant?.guarded ?? true
  if (guarded && request.authorized === (status === 401)) return wrong('is the wrong answer to its token')
  if (request.method === 'HEAD') return text === '' ? undefined : wrong('to HEAD has a body')
  if (/\n\s+at |node_modules|"stack"|\.ts:\d/.test(text)) return wrong('shows a stack trace')
  if (text.toLowerCase().includes(mark)) return wrong('shows a secret')
  const broken = responseFault(operation, status, headers, JSON.parse(text))
  if (broken !== undefined) return wrong(`breaks the contract (${broken})`)
  const served = status < 300 && operation && !refusedCall.test(text) ? acceptanceFault(request, operation) : undefined
  return served === undefined ? undefined : wrong(`accepts what the contract refuses (${served})`)
}

/** JSON-RPC refuses a body with status 200. */
const refusedCall = /^\{"jsonrpc":"2\.0","id":null,"error":\{"code":-32[67]00,/

/** Why the contract refuses this request, which was served. */
function acceptanceFault({ target, headers, body }: TestRequest, operation: ContractOperation): string | undefined {
  const parameter = parameterFault(operation, target, headers)
  if (parameter !== undefined || Object.keys(operation.bodies).length === 0) return parameter
  if (!operation.bodyRequired && (body ?? '').length === 0) return undefined
  // Of two Content-Type headers Node keeps the first.
  const [type = /JsonRpc$|^callMcp$/.test(operation.id) ? 'application/json' : ''] = [headers['Content-Type']].flat()
  const mediaType = type.split(';')[0]?.trim().toLowerCase() ?? ''
  if (!(mediaType in operation.bodies)) return `media type ${mediaType}`
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(body ?? ''))
  return requestFault(operation, mediaType, JSON.parse(text))
}

/** No node but ours may be called. */
export function hostFault({ text }: Answer, hosts: Set<string>): string | undefined {
  const urls = [...text.matchAll(/"(?:custom_)?rpc_urls":\[([^\]]*)/g)].flatMap(([, list = '']) => [
    ...list.matchAll(/"url":"([^"]*)"/g),
  ])
  const stranger = urls.find(([, url = '']) => !hosts.has(new URL(url).host))
  return stranger && `a node of somebody else's is used: ${stranger[1]}`
}
