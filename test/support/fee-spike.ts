import type { Rig } from './rig.ts'
import { columnOf, type Stored } from './service-database.ts'
import { until } from './until.ts'

const gwei = 10n ** 9n
const minutesMs = 60_000

/** The hashes that were signed for a relayer's transaction, oldest first. */
export const hashesOf = (stored: Stored, nonce: number): Promise<string[]> =>
  columnOf(stored, `SELECT hash FROM attempts WHERE nonce = ${nonce} ORDER BY transaction_row_id, number`)

/** The signed bytes with this hash. */
export async function rawOf(stored: Stored, hash: string): Promise<string> {
  const [raw] = await columnOf<Buffer>(stored, `SELECT raw FROM attempts WHERE hash = '${hash}'`)
  return `0x${raw?.toString('hex')}`
}

/**
 * Raises the base fee above the maximum fee of the account's transaction with this nonce, and mines blocks until it is signed again
 * and a node has replaced the first version. Resolves to all its hashes. The chain must make blocks on demand only, and the transaction
 * must be the account's next one.
 */
export async function spike(rig: Rig, nonce: number): Promise<string[]> {
  const { chain, clock, proxy } = rig
  const looks = () => proxy.counts().eth_getBlockByNumber ?? 0
  const isReplaced = async () => {
    const [first, ...others] = await hashesOf(rig, nonce)
    return others.length > 0 && (await chain.rpc('eth_getTransactionByHash', [first])) === null
  }
  await until('a node has what was signed again', isReplaced, async () => {
    if ((await hashesOf(rig, nonce)).length > 1) return
    await chain.setBaseFee(6n * gwei)
    await chain.mine()
    clock.ahead_ms += 5 * minutesMs
    const before = looks()
    await until('the service has looked', () => looks() >= before + 2)
  })
  return hashesOf(rig, nonce)
}
