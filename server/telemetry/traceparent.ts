/** Version 00 of W3C's Trace Context, section 3.2; of a later version the part that this one knows. */
const shape = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,512})?$/

/** The span that a request was made in; undefined when the header says none, or wrongly. */
export function parseTraceparent(
  header: string | undefined,
): { traceId: string; spanId: string; traceFlags: number } | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = shape.exec(header ?? '') ?? []
  if (version === undefined || (version === '00' && rest !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 }
}
