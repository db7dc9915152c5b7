/** A time from which on, and one before which; each may be open. In UTC. */
export interface Period {
  after?: string
  before?: string
}

const form = /(?:^|\s)(after|before):(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z)(?=\s|$)/g

/** The exact times in the text of a filter, as `withPeriod` and the charts write them, and the rest of the text. */
export function periodOf(text: string): { period: Period; rest: string } {
  const period: Period = {}
  const rest = text.replaceAll(form, (_, which: keyof Period, at: string) => {
    period[which] = new Date(at).toISOString()
    return ''
  })
  return { period, rest: rest.trimStart() }
}

/** The text of a filter with a period. */
export const withPeriod = (rest: string, { after, before }: Period): string =>
  [after && `after:${after}`, before && `before:${before}`, rest].filter(Boolean).join(' ')
