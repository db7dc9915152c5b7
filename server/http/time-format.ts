const time =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

/**
 * Whether a text is an RFC 3339 time. Leap seconds are refused, because JavaScript's clock has none. Ajv's check also accepts a
 * space or a line break in place of the T, and +0100 in place of +01:00.
 */
export function isTime(text: string): boolean {
  if (!time.test(text)) return false
  const day = Number(text.slice(8, 10))
  return day <= 28 || day <= daysIn(Number(text.slice(0, 4)), Number(text.slice(5, 7)))
}

/** The last day of a month is the day before the first of the next. */
function daysIn(year: number, month: number): number {
  const last = new Date(0)
  last.setUTCFullYear(year, month, 0)
  return last.getUTCDate()
}
