import { conflict } from '../../core/errors.ts'
import type { PendingAuditEntry, RelayerRow } from '../../core/rows.ts'
import { proveGenesis } from '../../evm/proofs.ts'
import { nextTurn } from '../../next-turn.ts'
import type { NetworkClient, SendingDependencies } from '../dependencies.ts'
import { createChainIdentity } from './chain-identity.ts'

/** The chain ids of hardhat and anvil, and of geth's and ganache's development modes. */
const development_chain_ids: ReadonlySet<number> = new Set([1_337, 31_337])
/** Rows per database transaction: about 10 ms. */
const rows_per_batch = 100
const reason = 'The chain was restarted: this transaction is no longer on any chain'
const disabled_reason =
  'The chain was restarted, and the nonces of the former chain are being deleted: repeat the request'

type RestartNetwork = Pick<NetworkClient, 'network' | 'each'> & {
  chain: Pick<NetworkClient['chain'], 'latestNonce'>
}

/**
 * Resets a relayer's account after a test chain was restarted. Unfinished transactions fail, transactions of the former chain lose
 * their nonces, and the nonce counter starts from the account's count on the new chain. If the reset is interrupted, the relayer
 * stays disabled and the same request completes it. Throws ApiError (409) for a network that is not a test network, and when the
 * chain is still the one that the nonces were used on.
 */
export function createChainRestart({ store }: Pick<SendingDependencies, 'store'>) {
  const identify = createChainIdentity({ store })

  return async function restart(
    relayer: RelayerRow,
    client: RestartNetwork,
    auditEntry: PendingAuditEntry,
  ): Promise<void> {
    const { chain, network } = client
    const { id, chain_id, address } = relayer
    const isDevelopment = development_chain_ids.has(chain_id)
    if (!network.is_testnet && !isDevelopment) {
      throw conflict('/body/chain_restarted', 'The network is not a test network: is_testnet must be true')
    }
    const [genesis, latest] = await Promise.all([proveGenesis(client), chain.latestNonce(address)])
    const isOther = (await identify(relayer, client, latest))?.isSame === false
    // A restarted development chain may have the same genesis block; then its lower transaction count shows the restart.
    const isSetBack = isDevelopment && (await store.isSettledFrom(chain_id, address, latest))
    if (genesis === undefined || !(isOther || isSetBack)) {
      throw conflict(
        '/body/chain_restarted',
        'The chain was not restarted: it is the one that the nonces of this relayer were used on',
      )
    }

    await store.updateRelayer(id, (current) => ({ ...current, system_disabled: true, disabled_reason }))
    const account = { chain_id, address }
    do {
      while ((await store.forgetNonces(account, reason, genesis, rows_per_batch)) > 0) await nextTurn()
    } while (!(await store.restartAccount(account, genesis.fact.genesis_hash, latest, auditEntry)))
    await store.updateRelayer(id, (current) => ({ ...current, system_disabled: false, disabled_reason: null }))
  }
}
