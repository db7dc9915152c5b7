/** A larger number is no time that anybody waits. */
const seconds = /^\d{1,9}$/
/** The two forms of RFC 9110, section 5.6.7, that name their zone. Without the pattern `Date.parse` takes "-1" and "1.5" for dates. */
const date = /^[A-Z][a-z]{2,8}, [\w :-]{10,30} GMT$/

/** The seconds of a Retry-After header, which has seconds or a date (RFC 9110, section 10.2.3); undefined without one. `now`: epoch ms. */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  const value = header?.trim() ?? ''
  if (seconds.test(value)) return Number(value)
  const at = date.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000))
}
