import type { AttemptRow, Move, TransactionRow, WholeTransactionRow } from '../store/rows.ts'
import type { NetworkClient, SendingDependencies } from './dependencies.ts'
import type { Seen, Step } from './state.ts'

type ReconciliationDependencies = Pick<SendingDependencies, 'store' | 'readSigned' | 'now' | 'observer'>

type AsMined = Partial<
  Pick<TransactionRow, 'hash' | 'signature' | 'gas_price' | 'max_fee_per_gas' | 'max_priority_fee_per_gas'>
> & { content?: ReturnType<SendingDependencies['readSigned']>['content'] }

/** Turns what the chain shows of a transaction into the changes of its row. */
export function createReconciliation({ store, readSigned, now, observer }: ReconciliationDependencies) {
  return {
    /** Of any of its byte strings, all transactions in few exchanges; null where there is none. */
    async receipts(chain: NetworkClient['chain'], rows: TransactionRow[]): Promise<(Seen | null)[]> {
      const attempts = await Promise.all(rows.map(({ key }) => store.attempts(key)))
      const asked = attempts.flat()
      const receipts = await chain.receipts(asked.map(({ hash }) => hash))
      const found = new Map(receipts.flatMap((receipt) => (receipt ? [[receipt.hash.toLowerCase(), receipt]] : [])))
      return attempts.map((own) => {
        const attempt = own.findLast(({ hash }) => found.has(hash))
        const receipt = attempt && found.get(attempt.hash)
        return attempt && receipt ? { ...receipt, hash: attempt.hash, purpose: attempt.purpose } : null
      })
    },

    /** The row follows the byte string that the chain took: an earlier price, or content from before a replacement. */
    async settle(chain: NetworkClient['chain'], row: TransactionRow, step: Step): Promise<Move[]> {
      if (step.do !== 'note' && step.do !== 'end') return []
      const { seen } = step
      const block = { block_number: seen.block_number, block_hash: seen.block_hash }
      const { content, ...others } = await asMined(row, seen)
      const shown = { ...(seen.purpose === 'send' && content), ...others }
      const isMined = row.status === 'mined' && row.block_hash === seen.block_hash
      const isReverted = !seen.succeeded && seen.purpose === 'send' && !isMined
      // Of what was mined, which may be another content than the row's; and asked once, while the node still has the state.
      const reason = isReverted
        ? await revertReason(chain, { ...row, data: await store.dataOf(row.key), ...content }, seen)
        : row.status_reason
      const sent_at = row.sent_at ?? new Date(now()).toISOString()
      const { key, revision } = row

      // A withdrawn transaction is not called mined: what is in the block is not what was asked for.
      const noted: Move = {
        key,
        revision,
        set: {
          ...shown,
          ...block,
          sent_at,
          status: seen.purpose === 'send' ? 'mined' : 'submitted',
          status_reason: seen.purpose === 'send' && seen.succeeded ? null : reason,
        },
      }
      if (step.do === 'note') return [noted]
      if (seen.fee !== undefined) observer.paid?.(row.chain_id, seen.fee)
      const ended: Move = {
        key,
        revision: isMined || seen.purpose === 'cancel' ? revision : revision + 1,
        set: {
          ...shown,
          ...block,
          sent_at,
          status: step.status,
          status_reason: step.status === 'confirmed' ? null : reason,
          confirmed_at: step.status === 'confirmed' ? new Date(now()).toISOString() : null,
        },
      }
      return isMined || seen.purpose === 'cancel' ? [ended] : [noted, ended]
    },
  }

  /** What a row has of the bytes that are in the block; nothing when it has all of it: they are what was signed for it last. */
  async function asMined(row: TransactionRow, seen: Seen): Promise<AsMined> {
    if (row.hash === seen.hash && !row.resign) return {}
    const attempt = (await store.attempts(row.key)).find(({ hash }) => hash === seen.hash) as AttemptRow
    const { content, signature } = readSigned(await store.rawOf(row.key, attempt.number))
    return { content, signature, hash: attempt.hash, ...pricesIn(attempt) }
  }

  async function revertReason(chain: NetworkClient['chain'], row: WholeTransactionRow, seen: Seen): Promise<string> {
    const call = { from: row.from, to: row.to, value: BigInt(row.value), data: row.data }
    const gas = row.gas_limit === null ? {} : { gas: row.gas_limit }
    const reason = await chain.revertReason({ ...call, ...gas }, seen.block_number).catch(() => undefined)
    // The replay says it, or gives no other reason for a receipt in which all gas is used.
    const { gas_limit } = row
    const usedAll = gas_limit !== null && seen.gas_used !== undefined && seen.gas_used >= gas_limit
    if (reason === out_of_gas || (reason === undefined && usedAll)) {
      return `Out of gas: its gas limit (${gas_limit}) was too low`
    }
    return `Reverted${reason ? `: ${reason}` : ''}`.slice(0, 1_000)
  }
}

/** How a replay says that the gas limit was too low. */
const out_of_gas = 'out of gas'

const pricesIn = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: AttemptRow) => ({
  gas_price,
  max_fee_per_gas,
  max_priority_fee_per_gas,
})
