import type { Transaction } from '../../client/index.ts'
import type { Anvil } from './anvil.ts'
import { columnOf, rowsOf, type Stored } from './service-database.ts'

/** A transaction of the account, as the chain has it. */
export interface Mined {
  hash: string
  nonce: number
  value: bigint
  block_number: number
}

/** The outcomes of accepted transactions, computed from the chain. Each accepted transaction must have a unique value. */
export interface Score {
  accepted: number
  /** Accepted, and canceled, expired or failed. */
  withdrawn: number
  /** Accepted, not withdrawn, and in no block. */
  lost: number
  /** In more than one block, under any nonce; and withdrawn ones that are in a block. */
  twice: number
  /** Nonces below the account's next one that are not on chain, and nonces on chain that are not below it. */
  gaps: number
  /** The highest number of hashes that one nonce has on chain. */
  hashes_per_nonce: number
  /** Rows that contradict the chain, and transactions on chain without a row. */
  contradictions: number
  /** Rows that have not ended. */
  unfinished: number
}

/** How a score is when all is well. */
export const clean = (accepted: number): Score => ({
  accepted,
  withdrawn: 0,
  lost: 0,
  twice: 0,
  gaps: 0,
  hashes_per_nonce: 1,
  contradictions: 0,
  unfinished: 0,
})

/** Every transaction of the account, by a walk through all blocks. */
export async function minedBy(chain: Anvil, address: string): Promise<Mined[]> {
  const height = Number(await chain.rpc<string>('eth_blockNumber'))
  const mined: Mined[] = []
  for (let number = 0; number <= height; number += 1) {
    const block = await chain.rpc<Block>('eth_getBlockByNumber', [`0x${number.toString(16)}`, true])
    for (const { hash, from, nonce, value } of block.transactions) {
      if (from.toLowerCase() !== address) continue
      mined.push({ hash, nonce: Number(nonce), value: BigInt(value), block_number: number })
    }
  }
  return mined
}

interface Block {
  transactions: { hash: string; from: string; nonce: string; value: string }[]
}

const withdrawn: ReadonlySet<string> = new Set(['canceled', 'expired', 'failed'])

/**
 * `accepted`: the values of requests with the response 201. `rows`: the transactions as the service returns them now. `next_nonce`: the
 * next nonce by the service. `foreign`: the hashes of transactions that the test sent with the account's key.
 */
export function scoreOf(
  mined: Mined[],
  accepted: Iterable<string>,
  rows: Transaction[],
  nextNonce: number,
  foreign: ReadonlySet<string> = new Set(),
): Score {
  const rowByValue = new Map(rows.map((row) => [row.value, row]))
  const byValue = Map.groupBy(mined, ({ value }) => `${value}`)
  const byNonce = Map.groupBy(mined, ({ nonce }) => nonce)
  const score = clean(0)
  score.hashes_per_nonce = Math.max(0, ...byNonce.values().map((same) => new Set(same.map(({ hash }) => hash)).size))

  for (const value of accepted) {
    score.accepted += 1
    const times = byValue.get(value)?.length ?? 0
    const isWithdrawn = withdrawn.has(rowByValue.get(value)?.status ?? '')
    if (isWithdrawn) score.withdrawn += 1
    if (times === 0 && !isWithdrawn) score.lost += 1
    if (times > (isWithdrawn ? 0 : 1)) score.twice += 1
  }
  const highest = Math.max(nextNonce, ...mined.map(({ nonce }) => nonce + 1))
  for (let nonce = 0; nonce < highest; nonce += 1) if (nonce >= nextNonce || !byNonce.has(nonce)) score.gaps += 1

  const known = new Map(rows.map((row) => [row.nonce, row.hash]))
  for (const { nonce, hash } of mined) if (known.get(nonce) !== hash && !foreign.has(hash)) score.contradictions += 1
  const hashes = new Set(mined.map(({ hash }) => hash))
  for (const { status, hash } of rows) {
    if (status === 'confirmed' && !hashes.has(hash ?? '')) score.contradictions += 1
    if (!withdrawn.has(status) && status !== 'confirmed') score.unfinished += 1
  }
  return score
}

/** Data that only the database has. The service may be running. */
export async function readLedger(stored: Stored) {
  const updates = `SELECT body FROM events WHERE event = 'transaction_update' ORDER BY row_id`
  const events = (await columnOf<string>(stored, updates)).map((body) => JSON.parse(body).payload as Told)
  const attempts = await rowsOf<Attempt>(
    stored,
    `SELECT id, number, attempts.max_fee_per_gas, attempts.max_priority_fee_per_gas, taken_at
    FROM attempts JOIN transactions ON transactions.row_id = transaction_row_id ORDER BY transaction_row_id, number`,
  )
  return {
    /** By transaction: the reported states, in order. */
    states: new Map(
      Map.groupBy(events, ({ id }) => id)
        .entries()
        .map(([id, told]) => [id, told.map(toStatus)]),
    ),
    /** By transaction: the fees of all that was signed for it, in order. */
    fees: new Map(
      Map.groupBy(attempts, ({ id }) => id)
        .entries()
        .map(([id, made]) => [id, made.map(toFees)]),
    ),
  }
}

interface Told {
  id: string
  status: string
}

interface Attempt {
  id: string
  max_fee_per_gas: string
  max_priority_fee_per_gas: string
  taken_at: string | null
}

export interface SignedFees {
  most: bigint
  tip: bigint
  /** Whether a node is known to have it. */
  taken: boolean
}

const toStatus = ({ status }: Told) => status

const toFees = ({ max_fee_per_gas, max_priority_fee_per_gas, taken_at }: Attempt): SignedFees => ({
  most: BigInt(max_fee_per_gas),
  tip: BigInt(max_priority_fee_per_gas),
  taken: taken_at !== null,
})

const ends: ReadonlySet<string> = new Set(['confirmed', 'failed', 'canceled', 'expired'])

/** The number of transactions that were reported in another state after a final one. */
export const takenBack = ({ states }: Awaited<ReturnType<typeof readLedger>>): number =>
  [...states.values()].filter((told) => told.slice(0, -1).some((status) => ends.has(status))).length
