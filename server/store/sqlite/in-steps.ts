import { setImmediate as turn } from 'node:timers/promises'

/** Rows that are read in one turn of the event loop: some milliseconds. */
const turn_rows = 500

/** At most `limit` rows in steps, between which others have their turn. `next` reads the rows after one, or the first ones. */
export async function inSteps<Row>(
  limit: number,
  next: (after: Row | undefined, limit: number) => Row[],
): Promise<Row[]> {
  const rows: Row[] = []
  for (;;) {
    const size = Math.min(turn_rows, limit - rows.length)
    const step = next(rows.at(-1), size)
    rows.push(...step)
    if (step.length < size || rows.length >= limit) return rows
    await turn()
  }
}
