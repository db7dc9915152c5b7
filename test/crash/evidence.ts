import Database from 'better-sqlite3'
import type { RelayerClient, Transaction } from '../../client/index.ts'
import { answerOf } from '../../server/store/queries/insert-rules.ts'
import type { Anvil } from '../support/anvil.ts'

/** The transactions of an account on the chain, from the first block to the last. */
export interface ChainEvidence {
  transactions: { hash: string; nonce: number; value: string }[]
  /** The hashes that have a receipt of success. */
  receipts: string[]
}

/** The rows in the database after the last kill. */
export interface StoreEvidence {
  /** Errors that SQLite's integrity check finds. */
  damage: string[]
  next_nonce: number
  /** Of everything that was ever signed. */
  hashes: string[]
  /** By hash: the nonce and the prices that were signed. */
  prices: Map<string, string>
  /** The responses, by idempotency key. */
  answers: Map<string, Transaction>
  /** In their order. */
  events: { relayer_row_id: number; sequence: number; payload: Transaction }[]
}

const atOnce = 25
const perPage = 1_000

export async function readChain(chain: Anvil, address: string, hashes: string[]): Promise<ChainEvidence> {
  const head = Number(await chain.rpc('eth_blockNumber'))
  const numbers = Array.from({ length: head + 1 }, (_, number) => number)
  const blocks = await inTurns(numbers, (number) =>
    chain.rpc<{ transactions: RawTransaction[] }>('eth_getBlockByNumber', [`0x${number.toString(16)}`, true]),
  )
  const receipts = await inTurns(hashes, (hash) =>
    chain.rpc<{ transactionHash: string; status: string } | null>('eth_getTransactionReceipt', [hash]),
  )
  return {
    transactions: blocks
      .flatMap(({ transactions }) => transactions)
      .filter(({ from }) => from.toLowerCase() === address)
      .map(({ hash, nonce, value }) => ({ hash, nonce: Number(nonce), value: BigInt(value).toString() })),
    receipts: receipts.flatMap((receipt) => (receipt?.status === '0x1' ? [receipt.transactionHash] : [])),
  }
}

/** Reads all pages of the list, and keeps duplicates. */
export async function readList(client: RelayerClient, relayerId: string): Promise<Transaction[]> {
  const listed: Transaction[] = []
  for (let page = 1; ; page += 1) {
    const answer = await client.get('/api/v1/relayers/{relayer_id}/transactions/', {
      path: { relayer_id: relayerId },
      query: { page, per_page: perPage },
    })
    listed.push(...answer.data)
    if (page * perPage >= answer.pagination.total_items) return listed
  }
}

/** Reads the database file, because no operation returns the pending events of a webhook. */
export function readStore(file: string, address: string): StoreEvidence {
  const db = new Database(file)
  try {
    const column = <T>(sql: string, ...values: unknown[]) =>
      db
        .prepare<unknown[], T>(sql)
        .pluck()
        .all(...values)
    const integrity = column<string>('PRAGMA integrity_check').filter((line) => line !== 'ok')
    const foreign = db.prepare<[], { table: string }>('PRAGMA foreign_key_check').all()
    const answers = db
      .prepare<[], { key: string; answer: string }>('SELECT idempotency_key AS key, answer FROM idempotency')
      .all()
    const events = db
      .prepare<[], { relayer_row_id: number; sequence: number; body: string }>(
        'SELECT relayer_row_id, sequence, body FROM events ORDER BY relayer_row_id, sequence',
      )
      .all()
    return {
      damage: [...integrity, ...foreign.map(({ table }) => `${table} refers to what is not there`)],
      next_nonce: column<number>('SELECT next_nonce FROM accounts WHERE address = ?', address)[0] ?? 0,
      hashes: column<string>('SELECT hash FROM attempts'),
      prices: new Map(
        db
          .prepare<[], { hash: string; price: string }>(
            `SELECT hash, json_array(nonce, gas_price, max_fee_per_gas, max_priority_fee_per_gas, purpose) AS price
             FROM attempts`,
          )
          .all()
          .map(({ hash, price }) => [hash, price]),
      ),
      answers: new Map(answers.map(({ key, answer }) => [key, answerOf(JSON.parse(answer), null) as Transaction])),
      events: events.map(({ body, ...event }) => {
        const { payload_type: _, ...shown } = JSON.parse(body).payload
        return { ...event, payload: shown as Transaction }
      }),
    }
  } finally {
    db.close()
  }
}

interface RawTransaction {
  hash: string
  from: string
  nonce: string
  value: string
}

async function inTurns<In, Out>(inputs: In[], ask: (input: In) => Promise<Out>): Promise<Out[]> {
  const outputs: Out[] = []
  for (let from = 0; from < inputs.length; from += atOnce) {
    outputs.push(...(await Promise.all(inputs.slice(from, from + atOnce).map(ask))))
  }
  return outputs
}
