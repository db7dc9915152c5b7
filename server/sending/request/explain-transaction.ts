import type { Explanation } from '../../../generated/openapi.ts'
import type { NodeAccess } from '../../core/node-access.ts'
import type { RelayerRow } from '../../core/rows.ts'
import type { WholeTransactionRow } from '../../core/sending-rows.ts'
import { isOfPool } from '../../core/shown-transaction.ts'
import { within } from '../../evm/ask-each.ts'
import type { NetworkClient, SendingDependencies } from '../dependencies.ts'
import { explain, type Facts, suggestionsOf } from './explanation.ts'

/** The time limit for the answers of the nodes. */
const patience_ms = 2_000
/** The maximum age of the cached newest block. */
const max_age_ms = 1_000

type ExplainDependencies = Pick<SendingDependencies, 'store' | 'clientFor' | 'now'>

/** Gathers the facts about a transaction, from the store and from the nodes, and explains it. */
export function createExplain({ store, clientFor, now }: ExplainDependencies) {
  /** `pool_row_id`: given when a pool asks: then of a blocking transaction only its nonce is told, unless that is the pool's too. */
  return async (
    nodes: NodeAccess,
    relayer: RelayerRow,
    row: WholeTransactionRow,
    pool_row_id?: number | null,
  ): Promise<Explanation> => {
    const [client, first] = await Promise.all([clientFor(nodes, relayer), store.firstInLine(relayer.row_id)])
    const seen = client && (await ask(client, relayer, row))
    const facts: Facts = {
      relayer,
      first,
      isFirstSeen: first !== undefined && isOfPool(first, pool_row_id),
      attempts: (await store.listAttempts(row.row_id, { offset: 0, limit: 0 })).total_items,
      market: seen?.market,
      head: seen?.head,
      balance: seen?.balance,
      next_nonce: seen?.next_nonce,
      now: now(),
      head_at: seen?.head_at,
      average_blocktime_ms: client?.network.average_blocktime_ms,
      required_confirmations: client?.network.required_confirmations,
      gas_limit: seen?.gas_limit ?? row.gas_limit ?? 0,
    }
    const explained = explain(row, facts)
    // The steps that help the blocking transaction also help the transactions behind it.
    const blocker =
      explained.waiting_for === 'earlier_nonce' && first
        ? await store.getTransaction(relayer.row_id, first.id)
        : undefined
    if (blocker && !facts.isFirstSeen) return { ...explained, suggestions: [] }
    const waiting_for = blocker ? explain(blocker, facts).waiting_for : explained.waiting_for
    return { ...explained, suggestions: suggestionsOf(blocker ?? row, waiting_for, facts) }
  }
}

/** Each fact by itself: one that no node tells in time leaves the others. */
async function ask(client: NetworkClient, { address }: RelayerRow, { intent }: WholeTransactionRow) {
  const [market, poll, funds, gas_limit] = await Promise.all([
    within(patience_ms, client.market()),
    within(patience_ms, client.chain.poll(address, max_age_ms)),
    within(patience_ms, client.funds(address)),
    intent === 'send' ? undefined : within(patience_ms, transferGas(client, address)),
  ])
  const { number: head, at_ms: head_at } = poll?.head ?? {}
  return { market, head, head_at, next_nonce: poll?.latest, balance: funds?.balance, gas_limit }
}

/** The gas limit of the transfer that uses the nonce of a withdrawn transaction. */
const transferGas = (client: NetworkClient, address: string): Promise<number> =>
  client.mempoolOf({ submission: null }).gas.limit({ from: address, to: address, value: 0n, data: null })
