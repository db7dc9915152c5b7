import type { RelayerRow } from '../../core/rows.ts'
import { isRpcFailure } from '../../evm/rpc.ts'
import type { SendingDependencies } from '../dependencies.ts'
import type { Irreversible } from './irreversible.ts'

const page = 100
const max_relayers = 10_000

/**
 * Compares each account's counts on chain, with and without the node's pool, with the nonce counter when the service starts. Counts
 * beyond the counter mean that this database is older than another copy of it, or that another program uses the key. It changes
 * nothing: the difference is logged and remembered, and sending waits for what is in the pool.
 */
export async function checkAtStart(
  { store, networkClient }: Pick<SendingDependencies, 'store' | 'networkClient'>,
  { noteForeign }: Pick<Irreversible, 'noteForeign'>,
  isStopping: () => boolean,
): Promise<void> {
  for (let offset = 0; offset < max_relayers && !isStopping(); offset += page) {
    const { items } = await store.listRelayers({ offset, limit: page })
    for (const relayer of items) if (!isStopping()) await checkOne(relayer)
    if (items.length < page) return
  }

  async function checkOne(relayer: RelayerRow): Promise<void> {
    const client = await networkClient(relayer)
    if (!client) return
    const { chain_id, address } = relayer
    try {
      const pooled = await client.chain.pendingNonce(address)
      const { next_nonce } = await store.getAccount(chain_id, address)
      if (pooled <= next_nonce) return
      const hash = (await client.chain.pooledHash(address, pooled - 1)) ?? null
      await noteForeign(relayer, { nonce: pooled - 1, hash })
    } catch (error) {
      // A network whose nodes do not answer is looked at when something is sent.
      if (!isRpcFailure(error)) throw error
    }
  }
}
