/** W3C Trace Context, section 3.2, version 00. From later versions the members of version 00 are read. */
const shape = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,512})?$/

/** Parses a `traceparent` header into the caller's span; undefined when it is absent or invalid. */
export function parseTraceparent(
  header: string | undefined,
): { traceId: string; spanId: string; traceFlags: number } | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = shape.exec(header ?? '') ?? []
  if (version === undefined || (version === '00' && rest !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 }
}
