import { minWitnesses, proveAnyMined, proveGenesis, type Witnesses } from '../../chain/proofs.ts'
import { conflict } from '../../domain/errors.ts'
import type { Proof } from '../../domain/proof.ts'
import type { PendingAuditEntry, RelayerRow } from '../../domain/rows.ts'
import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import type { NetworkClient, SenderContext } from '../context.ts'

/** The chain ids of hardhat and anvil, and of geth's and ganache's development modes. */
const developmentChainIds: ReadonlySet<number> = new Set([1_337, 31_337])
/** Rows per database transaction: about 10 ms. */
const rowsPerBatch = 100
const reason = 'The chain was restarted: this transaction is no longer on any chain'
const disabledReason =
  'The chain was restarted, and the nonces of the former chain are being deleted: repeat the request'

type RestartNetwork = Pick<NetworkClient, 'network' | 'each' | 'endpoints'> & {
  chain: Pick<NetworkClient['chain'], 'latestNonce'>
}

/**
 * Resets a relayer's account after a test chain was restarted. Unfinished transactions fail, transactions of the former chain lose
 * their nonces, and the nonce counter starts from the account's count on the new chain. If the reset is interrupted, the relayer
 * stays disabled and the same request completes it. Throws DomainError (409) for a network that is not a test network, and when the
 * chain is still the one that the nonces were used on.
 */
export function createChainRestart({ store }: Pick<SenderContext, 'store'>) {
  const identify = createChainIdentity({ store })

  return async function restart(
    relayer: RelayerRow,
    client: RestartNetwork,
    auditEntry: PendingAuditEntry,
  ): Promise<void> {
    const { chain, network } = client
    const { id, chain_id, address } = relayer
    const isDevelopment = developmentChainIds.has(chain_id)
    if (!network.is_testnet && !isDevelopment) {
      throw conflict(['chain_restarted'], 'The network is not a test network: is_testnet must be true')
    }
    const [genesis, latest] = await Promise.all([proveGenesis(client), chain.latestNonce(address)])
    const isOther = (await identify(relayer, client, latest))?.isSame === false
    // A restarted development chain may have the same genesis block; then its lower transaction count shows the restart.
    const isSetBack = isDevelopment && (await store.isSettledFrom(chain_id, address, latest))
    if (genesis === undefined || !(isOther || isSetBack)) {
      throw conflict(
        ['chain_restarted'],
        'The chain was not restarted: it is the one that the nonces of this relayer were used on',
      )
    }

    await store.updateRelayer(id, (current) => ({ ...current, system_disabled: true, disabled_reason: disabledReason }))
    const account = { chain_id, address }
    do {
      while ((await store.forgetNonces(account, reason, genesis, rowsPerBatch)) > 0) await yieldToEventLoop()
    } while (!(await store.restartAccount(account, genesis.fact.genesis_hash, latest, auditEntry)))
    await store.updateRelayer(id, (current) => ({ ...current, system_disabled: false, disabled_reason: null }))
  }
}

/** How many nonces below and above the account's count are looked up to recognize a chain. */
const maxLookedUp = 20

/** Undefined: not proven, because too few endpoints show the first block. */
export type Identity = { isSame: boolean; proof: Proof<unknown> } | undefined

/**
 * Whether the endpoints are on the chain that the account's nonces were used on. The first block decides, as most endpoints show it.
 * When it differs from the stored one, our own transactions decide: a chain that has one of them in a block is not a new one. The stored
 * hash is false then, if more than one endpoint says so.
 */
export function createChainIdentity({ store }: Pick<SenderContext, 'store'>) {
  return async function identify(relayer: RelayerRow, witnesses: Witnesses, latest: number): Promise<Identity> {
    const { chain_id, address } = relayer
    const { genesis_hash } = await store.getAccount(chain_id, address)
    const genesis = await proveGenesis(witnesses)
    if (genesis === undefined) return undefined
    if (genesis.fact.genesis_hash === genesis_hash) return { isSame: true, proof: genesis }
    const isFirst = genesis_hash === null || !(await store.isSettledFrom(chain_id, address, 0))
    const ours = isFirst ? undefined : await proveOurs(relayer, witnesses, latest)
    if (!isFirst && !ours) return { isSame: false, proof: genesis }
    // The only node may have answered wrongly for a moment.
    if (isFirst || witnesses.each.length >= minWitnesses) {
      await store.setGenesis(chain_id, address, genesis.fact.genesis_hash)
    }
    return { isSame: true, proof: ours ?? genesis }
  }

  /** Rows around the account's count on chain: just below it if the chain is the same, and from it on if the chain is shorter. */
  async function proveOurs({ chain_id, address }: RelayerRow, witnesses: Witnesses, latest: number) {
    const from = Math.max(0, latest - maxLookedUp)
    const rows = await store.holders(chain_id, address, from, latest + maxLookedUp, 2 * maxLookedUp)
    const hashes = rows.flatMap(({ hash, block_hash }) => (hash !== null && block_hash !== null ? [hash] : []))
    return hashes.length === 0 ? undefined : proveAnyMined(witnesses, hashes)
  }
}
