import { nextTurn } from '../../next-turn.ts'

/** The most rows that are read in one turn of the event loop: some milliseconds. */
const turn_rows = 500

/** Reads at most `limit` rows in steps, between which other work runs. `next` reads the rows after one, or the first ones. */
export async function inSteps<Row>(
  limit: number,
  next: (after: Row | undefined, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (;;) {
    const size = Math.min(turn_rows, limit - rows.length)
    const step = await next(rows.at(-1), size)
    rows.push(...step)
    if (step.length < size || rows.length >= limit) return rows
    await nextTurn()
  }
}
