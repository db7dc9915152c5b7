import { beginning } from '../audit-batches.ts'
import type { Session } from '../rules/session.ts'
import { sql } from '../rules/statement.ts'

interface Chain {
  chain: number
}

const adopt = sql<Chain>(`
  UPDATE audit_chains SET server_row_id = $server_row_id WHERE chain = (
    SELECT chain FROM audit_chains JOIN servers ON servers.row_id = server_row_id WHERE state = 'ended'
    ORDER BY chain LIMIT 1 FOR UPDATE OF audit_chains SKIP LOCKED)
  RETURNING chain`)
const begin = sql<Chain>(`
  INSERT INTO audit_chains (chain, server_row_id, up_to, hash, at)
  SELECT coalesce(max(chain), 0) + 1, $server_row_id, $up_to, $hash, 0 FROM audit_chains
  ON CONFLICT DO NOTHING RETURNING chain`)

/**
 * The chain of the audit trail that a server writes: it continues the chain of a server that has ended, so that there are as many chains
 * as there ever were servers at one time. Should that one still write an entry, the lock of the head keeps the chain whole.
 */
export async function takeChain(read: Session, server_row_id: number): Promise<number> {
  for (;;) {
    const its = (await read.one(adopt, { server_row_id })) ?? (await read.one(begin, { server_row_id, ...beginning }))
    // Another server has begun the same one.
    if (its) return its.chain
  }
}
