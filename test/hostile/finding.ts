/** One measured figure and its bound. */
export interface Finding {
  /** The kind of attack, by its number in points.ts. */
  point?: Point
  what: string
  /** The figure before the service was hardened; absent: not measured. */
  before?: string
  found: string
  wanted: string
  holds: boolean
  /** Of a block of the event loop: the summary shows the longest of many. */
  block_ms?: number
}

export type Point = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17
