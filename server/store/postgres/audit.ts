import { type AuditHead, beginning, lotsAfter } from '../audit-lots.ts'
import type { AuditEntry } from '../rows.ts'
import type { Session, Transaction } from './session.ts'
import { sql } from './statement.ts'

export type { AuditHead } from '../audit-lots.ts'

/** The chain of the only server. */
export const chain = 1

const selectHead = sql<AuditHead>('SELECT up_to, hash FROM audit_chains WHERE chain = $chain')
const lockHead = sql<AuditHead>('SELECT up_to, hash FROM audit_chains WHERE chain = $chain FOR UPDATE')
const beginChain = sql(
  'INSERT INTO audit_chains (chain, up_to, hash) VALUES ($chain, $up_to, $hash) ON CONFLICT DO NOTHING',
)
const insertLot = sql(`
  INSERT INTO audit (chain, up_to, first, entries, hash) VALUES ($chain, $up_to, $first, $entries, $hash)`)
const setHead = sql('UPDATE audit_chains SET up_to = $up_to, hash = $hash WHERE chain = $chain')

/** The audit trail of this server. */
export function createTrail() {
  return {
    head: async (session: Session): Promise<AuditHead> => (await session.one(selectHead, { chain })) ?? beginning,
    /** The lock of the head is held until the commit, so that the chain has the order of the commits. */
    async append(transaction: Transaction, entries: AuditEntry[]): Promise<void> {
      let head = await transaction.one(lockHead, { chain })
      if (!head) {
        await transaction.run(beginChain, { chain, ...beginning })
        head = (await transaction.one(lockHead, { chain })) as AuditHead
      }
      const lots = lotsAfter(head, entries)
      for (const { up_to, first, entries: text, hash } of lots) {
        await transaction.run(insertLot, { chain, up_to, first, entries: text, hash })
      }
      const { up_to, hash } = lots.at(-1) as AuditHead
      await transaction.run(setHead, { chain, up_to, hash })
    },
  }
}
