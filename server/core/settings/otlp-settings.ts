import * as v from 'valibot'

/** OpenTelemetry's form: name=value with commas between them, percent-encoded. */
export const headers = v.pipe(
  v.string(),
  v.regex(/^\s*(?:[!#$%&'*+.^_`|~\w-]+\s*=[^,;]*(?:,\s*|$))*$/, 'must be name=value pairs with commas between them'),
  v.check(isPercentEncoded, 'must be percent-encoded'),
  v.transform(readHeaders),
)

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function readHeaders(list: string): Record<string, string> {
  const pairs = list.split(',').filter((pair) => pair.trim() !== '')
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      return [decodeURIComponent(pair.slice(0, at).trim()), decodeURIComponent(pair.slice(at + 1).trim())]
    }),
  )
}

/**
 * By OpenTelemetry's OTLP exporter configuration: the traces endpoint is used unchanged; `/v1/traces` is appended to the endpoint
 * of all signals.
 */
export function tracesUrl(values: {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string | undefined
}): string | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = values
  return own ?? (all && `${all.replace(/\/$/, '')}/v1/traces`)
}
