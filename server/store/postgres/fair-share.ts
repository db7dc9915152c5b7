export interface Server {
  row_id: number
  /** How many rows it has. */
  held: number
}

export interface FairShare {
  /** How many rows the server may have. */
  most: number
  /** How many it gives back. */
  surplus: number
  /** How many it has. */
  held: number
  /** Of how many rows it is a share, and of how many servers. */
  rows: number
  servers: number
}

/**
 * The share of one server. Rows are spread evenly; where they do not divide, the servers that registered first have one more. A row
 * moves only where it makes the parts more even.
 */
export function fairShare(row_id: number, servers: readonly Server[], at_work: number): FairShare {
  const rank = servers.findIndex((server) => server.row_id === row_id)
  const own = servers[rank]
  // Its registration has just ended.
  if (!own) return { most: 0, surplus: 0, held: 0, rows: 0, servers: 0 }
  const held = servers.reduce((sum, server) => sum + server.held, 0)
  const rows = Math.max(at_work, held)
  const most = Math.floor(rows / servers.length) + (rank < rows % servers.length ? 1 : 0)
  const least = Math.min(...servers.map((server) => server.held))
  const surplus = own.held - least >= 2 ? Math.max(0, own.held - most) : 0
  return { most, surplus, held: own.held, rows, servers: servers.length }
}

/** How many rows the server may have when `fresh` rows are new since its share was determined. */
export const mostWith = ({ rows, servers }: FairShare, fresh: number): number =>
  servers === 0 ? 0 : Math.ceil((rows + fresh) / servers)
