/** A change of state that an operator should know. `text`: for people. */
export interface Incident {
  /** Milliseconds since the Unix epoch. */
  at: number
  /** `over`: it ended what an earlier one began. */
  severity: 'error' | 'warning' | 'over'
  /** What it concerns: a relayer's id, the host of a node, or the type of a key service with the address of a key. */
  subject: string
  text: string
  /** The host and the number of the process that noticed it. */
  server: string
}
