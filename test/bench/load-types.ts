export interface Load {
  url: string
  /** The process whose CPU time and memory are measured. */
  pid: number
  /** Sent in turn. */
  requests: LoadRequest[]
  connections: number
  /** How long; or how many with `amount`. */
  seconds: number
  amount?: number
  /** Requests a second, evenly spaced, whether the earlier ones are answered or not. Absent: as fast as answers come. */
  rate?: number
  /** Sent at a rate of its own by the same process, and not measured. With `rate` only. */
  beside?: { requests: LoadRequest[]; rate: number }
}

export interface LoadRequest {
  method: 'GET' | 'POST' | 'PATCH'
  path: string
  headers: Record<string, string>
  body?: string
}

/** The result of a load. */
export interface Taken {
  count: number
  p50_ms: number
  p99_ms: number
  failed: string[]
}
