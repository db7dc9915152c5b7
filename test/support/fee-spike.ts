import Database from 'better-sqlite3'
import type { Rig } from './rig.ts'
import { until } from './until.ts'

const gwei = 10n ** 9n
const minutes_ms = 60_000

/** The hashes that were signed for a relayer's transaction, oldest first. */
export function hashesOf({ database_file }: Pick<Rig, 'database_file'>, nonce: number): string[] {
  const db = new Database(database_file, { readonly: true })
  try {
    return db
      .prepare<[number], string>('SELECT hash FROM attempts WHERE nonce = ? ORDER BY transaction_row_id, number')
      .pluck()
      .all(nonce)
  } finally {
    db.close()
  }
}

/** The signed bytes with this hash. */
export function rawOf({ database_file }: Pick<Rig, 'database_file'>, hash: string): string {
  const db = new Database(database_file, { readonly: true })
  try {
    const raw = db.prepare<[string], Buffer>('SELECT raw FROM attempts WHERE hash = ?').pluck().get(hash)
    return `0x${raw?.toString('hex')}`
  } finally {
    db.close()
  }
}

/**
 * The base fee rises above what the account's transaction with this nonce offers, and time and blocks pass, until it is signed again
 * and a node has replaced its first bytes. Resolves to all its hashes. The chain must make blocks on demand only, and the transaction
 * must be the account's next one.
 */
export async function spike(rig: Rig, nonce: number): Promise<string[]> {
  const { chain, clock, proxy } = rig
  const looks = () => proxy.counts().eth_getBlockByNumber ?? 0
  const isReplaced = async () => {
    const [first, ...others] = hashesOf(rig, nonce)
    return others.length > 0 && (await chain.rpc('eth_getTransactionByHash', [first])) === null
  }
  await until('a node has what was signed again', isReplaced, async () => {
    if (hashesOf(rig, nonce).length > 1) return
    await chain.setBaseFee(6n * gwei)
    await chain.mine()
    clock.ahead_ms += 5 * minutes_ms
    const before = looks()
    await until('the service has looked', () => looks() >= before + 2)
  })
  return hashesOf(rig, nonce)
}
