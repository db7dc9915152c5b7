import type { Failure, FailureDetail } from '../generated/client.ts'

/** What a failure says beside its status and message; each is undefined where it says nothing. */
export interface FailureMembers {
  /** A word of the contract's error catalogue, such as `insufficient_funds`; undefined when a proxy answered. */
  code?: string | undefined
  details?: FailureDetail[]
  /** The Retry-After header in seconds; undefined without one. */
  retryAfter?: number | undefined
  /** The X-Request-Id header, which the service's log shows too; undefined without one. */
  requestId?: string | undefined
  /** Where the API reference of the service describes the code; undefined when a proxy answered. */
  docUrl?: string | undefined
  /** The transaction that has the `deduplication_id` or the idempotency key, where the API key may read it. */
  transaction?: { id: string; relayer_id: string } | undefined
  /** The present revision of the resource; only with `precondition_failed`. */
  revision?: string | undefined
}

/**
 * A failure that the service, or a proxy in front of it, answered. Branch on `code`. `message` is for people: it describes the error,
 * as the first of `details` does where there are any. JSON.stringify shows all members.
 */
export class RelayerError extends Error implements FailureMembers {
  readonly status: number
  readonly code: FailureMembers['code']
  readonly details: FailureDetail[]
  readonly retryAfter: FailureMembers['retryAfter']
  readonly requestId: FailureMembers['requestId']
  readonly docUrl: FailureMembers['docUrl']
  readonly transaction: FailureMembers['transaction']
  readonly revision: FailureMembers['revision']

  constructor(status: number, message: string, members: FailureMembers = {}) {
    const { details = [] } = members
    super(whatIsWrong(message, details))
    this.name = 'RelayerError'
    this.status = status
    this.code = members.code
    this.details = details
    this.retryAfter = members.retryAfter
    this.requestId = members.requestId
    this.docUrl = members.docUrl
    this.transaction = members.transaction
    this.revision = members.revision
  }

  /** `body`: the parsed body of the failure. A body that is not the contract's, such as a proxy's page, is ignored. */
  static from(response: Response, body: unknown): RelayerError {
    const { code, message, details, doc_url, transaction, revision } = (
      typeof body === 'object' && body !== null ? body : {}
    ) as Partial<Failure>
    const text = typeof message === 'string' ? message : response.statusText || `HTTP ${response.status}`
    return new RelayerError(response.status, text, {
      code: typeof code === 'string' ? code : undefined,
      details: Array.isArray(details) ? details.filter(isDetail) : [],
      retryAfter: retryAfterS(response),
      requestId: requestIdOf(response),
      docUrl: typeof doc_url === 'string' ? URL.parse(doc_url, response.url)?.href : undefined,
      transaction,
      revision,
    })
  }

  toJSON() {
    const { name, message, ...members } = this
    return { name, message, ...members }
  }
}

export const requestIdOf = (response: Response): string | undefined => response.headers.get('X-Request-Id') ?? undefined

const isDetail = (detail: Partial<FailureDetail> | null): detail is FailureDetail =>
  typeof detail?.path === 'string' && typeof detail.message === 'string'

/** `body/value: must be a whole number`; the service's own message where there are no details. */
function whatIsWrong(message: string, [first, ...others]: FailureDetail[]): string {
  if (!first) return message
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  return `${first.path.replace(/^\//, '')}: ${first.message}${more}`
}

/** The seconds of a Retry-After header, which is a number or a date (RFC 9110, section 10.2.3). */
export function retryAfterS(response: Response): number | undefined {
  const value = response.headers.get('Retry-After') ?? ''
  if (/^\d{1,9}$/.test(value)) return Number(value)
  // The pattern is needed because Date.parse accepts "-1" as a date.
  const date = /^[A-Z][a-z]{2,8}, [\w :-]{10,30} GMT$/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1_000))
}
