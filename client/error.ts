export interface Detail {
  path: string
  /** A word for programs, such as `required` or the name of a policy. */
  code?: string
  message: string
  /** When the limit that refused has room again; absent: no time is known. */
  resets_at?: string
}

/**
 * A failure that the service, or a proxy in front of it, answered. Branch on `code`. `message` is for people: it describes the error,
 * as the first of `details` does where there are any. JSON.stringify shows all members.
 */
export class RelayerError extends Error {
  readonly status: number
  /** A word of the contract's error catalogue, such as `insufficient_funds`; undefined when a proxy answered. */
  readonly code: string | undefined
  readonly details: Detail[]
  /** The Retry-After header in seconds; undefined without one. */
  readonly retryAfter: number | undefined
  /** The X-Request-Id header, which the service's log shows too; undefined without one. */
  readonly request_id: string | undefined
  /** The transaction that has the `deduplication_id` or the idempotency key, where the API key may read it. */
  readonly transaction: { id: string; relayer_id: string } | undefined
  /** The present revision of the resource; only with `precondition_failed`. */
  readonly revision: string | undefined
  /** Where the API reference of the service describes the code; undefined when a proxy answered. */
  readonly doc_url: string | undefined

  constructor(
    status: number,
    code: string | undefined,
    message: string,
    details: Detail[],
    retryAfter?: number,
    requestId?: string,
    docUrl?: string,
    transaction?: { id: string; relayer_id: string },
    revision?: string,
  ) {
    super(whatIsWrong(message, details))
    this.name = 'RelayerError'
    this.status = status
    this.code = code
    this.details = details
    this.retryAfter = retryAfter
    this.request_id = requestId
    this.doc_url = docUrl
    this.transaction = transaction
    this.revision = revision
  }

  /** `body`: the parsed body of the failure. A body that is not the contract's, such as a proxy's page, is ignored. */
  static from(response: Response, body: unknown): RelayerError {
    const { code, message, details, doc_url, transaction, revision } = (
      typeof body === 'object' && body !== null ? body : {}
    ) as Partial<RelayerError>
    const text = typeof message === 'string' ? message : response.statusText || `HTTP ${response.status}`
    const word = typeof code === 'string' ? code : undefined
    const requestId = response.headers.get('X-Request-Id') ?? undefined
    const told = Array.isArray(details) ? details.filter(isDetail) : []
    const documented = typeof doc_url === 'string' ? URL.parse(doc_url, response.url)?.href : undefined
    return new RelayerError(
      response.status,
      word,
      text,
      told,
      retryAfterS(response),
      requestId,
      documented,
      transaction,
      revision,
    )
  }

  toJSON() {
    const { name, status, code, message, details, retryAfter, request_id, doc_url, transaction, revision } = this
    return { name, status, code, message, details, retryAfter, request_id, doc_url, transaction, revision }
  }
}

const isDetail = (detail: Partial<Detail> | null): detail is Detail =>
  typeof detail?.path === 'string' && typeof detail.message === 'string'

/** `body/value: must be a whole number`; the service's own message where there are no details. */
function whatIsWrong(message: string, [first, ...others]: Detail[]): string {
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
