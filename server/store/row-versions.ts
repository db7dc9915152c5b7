const block_rows = 4_096

/**
 * The version of each row of a table, by row id; 0: no such row. The versions stand in blocks of numbers: a Map of a million rows
 * takes five times the memory, and stops the process for tens of milliseconds whenever it grows.
 */
export function createRowVersions() {
  const blocks = new Map<number, Float64Array>()

  return {
    get: (row_id: number): number => blocks.get(Math.floor(row_id / block_rows))?.[row_id % block_rows] ?? 0,
    set(row_id: number, version: number): void {
      const number = Math.floor(row_id / block_rows)
      let block = blocks.get(number)
      if (!block) {
        block = new Float64Array(block_rows)
        blocks.set(number, block)
      }
      block[row_id % block_rows] = version
    },
  }
}

export type RowVersions = ReturnType<typeof createRowVersions>
