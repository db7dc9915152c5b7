/** What a process saw of the key services of one type since its start. Times are milliseconds since the Unix epoch. */
export interface KeyServiceState {
  type: string
  /** Calls for signatures, and those of them that failed. */
  calls: number
  failed_calls: number
  last_call_at: number | null
  /** The keys that a key service does not sign with now. */
  failing: KeyFault[]
  /** The newest, also when it is over. */
  last_error: KeyFault | null
}

export interface KeyFault {
  address: string
  at: number
  reason: string
}
