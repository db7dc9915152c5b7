/** Counts stop here, so that reading the gauges never delays a request for long. */
export const max_counted = 20_000
export const max_relayers = 100
/** Gaps are searched in this many nonces: no more transactions are ever broadcast at once. */
export const max_nonces = 1_000
