import { setImmediate as turn } from 'node:timers/promises'
import { conflict } from '../errors.ts'
import type { PendingAuditEntry, RelayerRow } from '../store/rows.ts'
import type { NetworkClient, SendingDependencies } from './dependencies.ts'

/** Of hardhat and anvil, and of geth's and ganache's development modes. */
const development_chain_ids: ReadonlySet<number> = new Set([1_337, 31_337])
/** In one database transaction: about 10 ms. */
const rows_per_lot = 100
const reason = 'The chain began anew: this transaction is on no chain any more'
const disabled_reason =
  'The chain began anew, and the nonces of the former chain are being forgotten: repeat the request'

type RestartReach = Pick<NetworkClient, 'network'> & {
  chain: Pick<NetworkClient['chain'], 'blockHash'> & { latestNonce(address: string): Promise<number> }
}

/**
 * Lets a relayer begin anew on a test chain that was restarted. Unfinished transactions end with the reason, no transaction of the
 * former chain holds a nonce any more, and the counter starts from the account's count on the new chain. When it is cut short the
 * relayer stays disabled, and the same request completes it. Throws ApiError (409) for a network that is no test network, and while
 * the chain is the one that the nonces were used on.
 */
export function createChainRestart({ store }: Pick<SendingDependencies, 'store'>) {
  return async function restart(
    relayer: RelayerRow,
    { chain, network }: RestartReach,
    auditEntry: PendingAuditEntry,
  ): Promise<void> {
    const { id, chain_id, address } = relayer
    const isDevelopment = development_chain_ids.has(chain_id)
    if (!network.is_testnet && !isDevelopment) {
      throw conflict('/body/chain_restarted', 'The network is no test network (is_testnet is false)')
    }
    const [genesis, latest] = await Promise.all([chain.blockHash(0), chain.latestNonce(address)])
    const { genesis_hash } = await store.getAccount(chain_id, address)
    const isOther = genesis_hash !== null && genesis !== genesis_hash
    // A development chain may begin anew with the very same first block: then its lower count shows it.
    const isSetBack = isDevelopment && (await store.isSettledFrom(chain_id, address, latest))
    if (genesis === undefined || !(isOther || isSetBack)) {
      throw conflict('/body/chain_restarted', 'The chain is the one that the nonces of this relayer were used on')
    }

    await store.updateRelayer(id, (current) => ({ ...current, system_disabled: true, disabled_reason }))
    const account = { chain_id, address }
    do {
      while ((await store.forgetNonces(account, reason, rows_per_lot)) > 0) await turn()
    } while (!(await store.withAudit(auditEntry, () => store.restartAccount(account, genesis, latest))))
    await store.updateRelayer(id, (current) => ({ ...current, system_disabled: false, disabled_reason: null }))
  }
}
