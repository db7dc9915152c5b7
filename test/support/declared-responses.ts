import { subscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { afterEach, expect } from 'vitest'
import { contract, resolve } from './contract.ts'

// Loaded before every file of tests: each response that an operation sends has a status and headers that the contract declares for it.

/** Of HTTP itself, or of a failure around every operation: the contract declares them as `default`. */
const byDefault: ReadonlySet<number> = new Set([408, 417, 431, 500, 501])
/** Sent before the request is counted. */
const uncounted: ReadonlySet<number> = new Set([401, 503])
const rateLimit = ['RateLimit', 'RateLimit-Policy']
const promised = [...rateLimit, 'ETag', 'Idempotent-Replayed', 'Retry-After', 'WWW-Authenticate', 'X-Request-Id']

type Header = { required?: boolean } | { $ref: string }
type Responses = Record<string, { headers?: Record<string, Header> } | { $ref: string }>

const responsesOf = new Map(
  Object.values(contract.paths)
    .flatMap((item) => Object.values(item) as { operationId: string; responses: Responses }[])
    .map(({ operationId, responses }) => [operationId, responses]),
)

function undeclaredIn(operationId: string, response: ServerResponse): string[] {
  const { statusCode: status } = response
  const responses = responsesOf.get(operationId) ?? {}
  const declared = responses[status] ?? (byDefault.has(status) ? responses.default : undefined)
  if (!declared) return [`${operationId} ${status}`]
  const headers = Object.entries(resolve<{ headers?: Record<string, Header> }>(declared).headers ?? {})
  const sent = promised.filter((name) => response.hasHeader(name))
  const required = headers.flatMap(([name, header]) => (resolve<{ required?: boolean }>(header).required ? [name] : []))
  if ('429' in responses && !uncounted.has(status)) required.push(...rateLimit)
  return [
    ...sent.filter((name) => !headers.some(([known]) => known === name)).map((name) => `sends ${name}`),
    ...required.filter((name) => !sent.includes(name)).map((name) => `lacks ${name}`),
  ].map((fault) => `${operationId} ${status} ${fault}`)
}

/** Kept beside the modules, which each file of tests may load again. */
const state = globalThis as { undeclaredResponses?: Set<string> }
if (!state.undeclaredResponses) {
  const found = new Set<string>()
  state.undeclaredResponses = found
  subscribe('http.server.response.finish', (message) => {
    const { response } = message as { response: ServerResponse & { locals?: { operation?: string } } }
    const { operation } = response.locals ?? {}
    if (operation !== undefined) for (const line of undeclaredIn(operation, response)) found.add(line)
  })
}

afterEach(() => {
  const lines = [...(state.undeclaredResponses ?? [])]
  state.undeclaredResponses?.clear()
  expect(lines, 'responses that the contract does not declare').toEqual([])
})
