export interface Detail {
  path: string
  message: string
}

/**
 * A failure that the service, or a proxy in front of it, answered. Branch on `code`; `message` and `details` are for people: they
 * say what is wrong and where.
 */
export class RelayerError extends Error {
  readonly status: number
  /** A word of the contract's error catalogue, such as `insufficient_funds`; undefined when a proxy answered. */
  readonly code: string | undefined
  readonly details: Detail[]
  /** The Retry-After header in seconds; undefined without one. */
  readonly retryAfter: number | undefined

  constructor(
    status: number,
    code: string | undefined,
    message: string,
    details: Detail[],
    retryAfter: number | undefined,
  ) {
    super(message)
    this.name = 'RelayerError'
    this.status = status
    this.code = code
    this.details = details
    this.retryAfter = retryAfter
  }

  /** `body`: the parsed body of the failure. A body that is not the contract's, such as a proxy's page, is ignored. */
  static from(response: Response, body: unknown): RelayerError {
    const { code, message, details } = (typeof body === 'object' && body !== null ? body : {}) as Partial<RelayerError>
    const text = typeof message === 'string' ? message : response.statusText || `HTTP ${response.status}`
    const word = typeof code === 'string' ? code : undefined
    return new RelayerError(response.status, word, text, Array.isArray(details) ? details : [], retryAfter_s(response))
  }
}

/** The seconds of a Retry-After header, which is a number or a date (RFC 9110, section 10.2.3). */
export function retryAfter_s(response: Response): number | undefined {
  const value = response.headers.get('Retry-After')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value)
  // The pattern is needed because Date.parse accepts "-1" as a date.
  const date = /^[A-Z][a-z]{2}, \d{2} /.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1_000))
}
