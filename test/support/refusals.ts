import { expect } from 'vitest'
import type { ErrorCode } from '../../server/domain/errors.ts'
import { responseFault } from './contract.ts'
import { exchange, json, type RawAnswer, rawRequest } from './raw-http.ts'
import type { TestService } from './service.ts'

/** A secret that a case may send, and that no answer and no log line may hold. */
export const planted = 'b1'.repeat(31)

export interface Case {
  name: string
  send: (token: string) => Buffer | string
  status: number
  message: string
  /** `path` of the first detail; absent: the response has no details. */
  at?: string
  header?: [name: string, value: string]
}

export const bearer = (token: string) => `Authorization: Bearer ${token}`

export const get = (path: string) => (token: string) => rawRequest(`GET ${path}`, [bearer(token)])

export const withBody =
  (line: string, body: string | Buffer, headers = json(body)) =>
  (token: string) =>
    rawRequest(line, [bearer(token), ...headers], body)

export const bad = (name: string, send: Case['send'], at: string): Case => ({
  name,
  send,
  status: 400,
  message: 'Bad Request',
  at,
})

export const missing = (name: string, send: Case['send'], message: string, at?: string): Case => ({
  name,
  send,
  status: 404,
  message,
  ...(at !== undefined && { at }),
})

/** The code of each status that a case expects. */
const codes: Record<number, ErrorCode> = {
  400: 'invalid_request',
  401: 'unauthorized',
  404: 'not_found',
  405: 'method_not_allowed',
  408: 'request_timeout',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  417: 'expectation_failed',
  431: 'header_too_large',
  501: 'not_implemented',
}

/** Expects the status, code and message of each case, no change in the database, and no secret in a response or log line. */
export async function expectRefused(service: TestService, cases: Case[]): Promise<void> {
  const before = await everything(service)
  for (const { name, send, status, message, at, header } of cases) {
    const answer = await exchange(service.url, send(service.api_key))
    const { details, request_id, ...body } = parse(answer)
    expect.soft({ status: answer.status, ...body }, name).toEqual({
      status,
      success: false,
      data: null,
      code: codes[status],
      message,
      doc_url: `/docs#/section/errors/${codes[status]}`,
    })
    expect.soft(request_id, name).toBe(answer.headers['x-request-id'])
    expect.soft(details?.[0]?.path, name).toBe(at)
    expect.soft(faultOf(answer), name).toBe(undefined)
    if (header) expect.soft(answer.headers[header[0]], name).toBe(header[1])
    expect.soft(answer.text, name).not.toMatch(/\n\s+at |node_modules|\.ts\b/)
    expect.soft(answer.text, name).not.toContain(planted)
  }
  expect.soft(await everything(service), 'what is stored').toEqual(before)
  expect.soft(service.logged.filter((line) => /a request failed|breaks the contract/.test(line))).toEqual([])
  const log = service.logged.join('')
  expect(log).not.toContain(service.api_key)
  expect(log).not.toContain(planted)
}

function parse({ text }: RawAnswer): { details?: { path: string }[]; request_id?: string } {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

const faultOf = ({ status, headers, text }: RawAnswer) =>
  /^application\/json/.test(headers['content-type'] ?? '')
    ? responseFault(undefined, status, headers, JSON.parse(text))
    : 'is not JSON'

const everything = async ({ client }: TestService) => [
  await client.get('/api/v1/networks'),
  await client.get('/api/v1/signers'),
  await client.get('/api/v1/relayers'),
  await client.get('/api/v1/notifications'),
]
