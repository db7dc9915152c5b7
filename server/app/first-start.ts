import { networkDefaults } from '../domain/network-defaults.ts'
import type { SignerRow } from '../domain/rows.ts'
import type { Store } from '../store/store.ts'

/** Of anvil and Hardhat. */
const chainId = 31_337

/** Creates the relayer `demo` with a new key on a local development chain, so that a first start can sign. */
export async function createDemo(store: Store, enclose: () => SignerRow | undefined): Promise<void> {
  if (!(await isUntouched(store))) return
  await store.createNetwork({
    ...networkDefaults(chainId),
    id: 'evm:local',
    name: 'local',
    network_type: 'evm',
    chain_id: chainId,
    rpc_urls: [{ url: 'http://127.0.0.1:8545', weight: 100 }],
    symbol: 'ETH',
    is_testnet: true,
  })
  const signer = enclose()
  if (!signer) throw new Error('A generated key is not a valid private key')
  await store.createSigner(signer)
  await store.createRelayer({
    id: 'demo',
    name: 'Demo',
    network: 'local',
    network_type: 'evm',
    paused: false,
    signer_id: signer.id,
    notification_ids: [],
    policies: {},
    custom_rpc_urls: [],
    system_disabled: false,
    disabled_reason: null,
  })
}

/** Whether the store contains at most the rows of `createDemo`, so that an interrupted first start is resumed. */
async function isUntouched(store: Store): Promise<boolean> {
  const few = { offset: 0, limit: 2 }
  const [networks, signers, relayers] = [
    await store.listNetworks(few),
    await store.listSigners(few),
    await store.listRelayers(few),
  ]
  return (
    relayers.total_items === 0 &&
    networks.items.every(({ id }) => id === 'evm:local') &&
    signers.items.every(({ id }) => id === 'demo')
  )
}
