/** One figure, and what it has to be. */
export interface Finding {
  what: string
  found: string
  wanted: string
  holds: boolean
}
