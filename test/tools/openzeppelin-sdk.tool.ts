import { Transaction } from 'ethers'
import { beforeAll, expect, test } from 'vitest'
import { folderWith, run, startRelayer } from './tool.ts'

// docs/migration.md: the operations of the SDK for EVM, without a change of the SDK.

const to = `0x${'5a'.repeat(20)}`
const key = `0x${'5c'.repeat(32)}`
const unsignedTransaction = Transaction.from({
  type: 2,
  chainId: 31_337,
  nonce: 0,
  gasLimit: 21_000,
  maxFeePerGas: 1n,
  to,
}).unsignedSerialized

/** Calls each operation in turn. Prints the status of each, and the body of a refusal. */
const script = `
import { HealthApi, NetworksApi, NotificationsApi, RelayersApi, SignersApi, Configuration } from '@openzeppelin/relayer-sdk'
const { BASE_URL, API_KEY, FUNDED } = process.env
const config = new Configuration({ basePath: BASE_URL, accessToken: API_KEY })
const [relayers, networks, notifications, signers, health] =
  [RelayersApi, NetworksApi, NotificationsApi, SignersApi, HealthApi].map((Api) => new Api(config))
const results = {}
async function call(name, work) {
  try {
    const { status, data } = await work()
    results[name] = { status }
    return data.data
  } catch (error) {
    results[name] = { status: error.response?.status, refusal: error.response?.data ?? error.message }
  }
}
const transaction = { to: '${to}', value: 1, data: '0x', gas_limit: 21000, speed: 'fast' }
await call('health', () => health.health())
const [network] = await call('listNetworks', () => networks.listNetworks(1, 5))
await call('getNetwork', () => networks.getNetwork(network.id))
await call('updateNetwork', () => networks.updateNetwork(network.id, { rpc_urls: [process.env.CHAIN_URL] }))
await call('createSigner', () => signers.createSigner({ id: 'their-key', type: 'plain', config: { key: '${key.slice(2)}' } }))
await call('listSigners', () => signers.listSigners(1, 5))
await call('getSigner', () => signers.getSigner('their-key'))
await call('updateSigner', () => signers.updateSigner('their-key', {}))
await call('createNotification', () => notifications.createNotification(
  { id: 'hook', type: 'webhook', url: 'http://127.0.0.1:9/a', signing_key: '0123456789abcdef0123456789abcdef' }))
await call('listNotifications', () => notifications.listNotifications(1, 5))
await call('getNotification', () => notifications.getNotification('hook'))
await call('updateNotification', () => notifications.updateNotification('hook', { url: 'http://127.0.0.1:9/b' }))
await call('createRelayer', () => relayers.createRelayer({ id: 'theirs', name: 'Theirs', network: network.name, network_type: 'evm',
  paused: false, signer_id: 'their-key', notification_id: 'hook', policies: { gas_price_cap: 100000000000, min_balance: 0 } }))
await call('listRelayers', () => relayers.listRelayers(1, 5))
await call('getRelayer', () => relayers.getRelayer('theirs'))
await call('updateRelayer', () => relayers.updateRelayer('theirs', { name: 'Ours', notification_id: null }))
await call('getRelayerBalance', () => relayers.getRelayerBalance('theirs'))
await call('getRelayerStatus', () => relayers.getRelayerStatus('theirs'))
await call('sign', () => relayers.sign('theirs', { message: 'Hello' }))
await call('signTypedData', () => relayers.signTypedData('theirs',
  { domain_separator: '11'.repeat(32), hash_struct_message: '22'.repeat(32) }))
await call('signTransaction', () => relayers.signTransaction('theirs', { unsigned_transaction: '${unsignedTransaction}' }))
await call('rpc', () => relayers.rpc(FUNDED, { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }))
const sent = await call('sendTransaction', () => relayers.sendTransaction(FUNDED, transaction))
await call('getTransactionById', () => relayers.getTransactionById(FUNDED, sent.id))
await call('getTransactionByNonce', () => relayers.getTransactionByNonce(FUNDED, sent.nonce))
await call('listTransactions', () => relayers.listTransactions(FUNDED, 1, 5))
await call('replaceTransaction', () => relayers.replaceTransaction(FUNDED, sent.id, { ...transaction, value: 2 }))
await call('cancelTransaction', () => relayers.cancelTransaction(FUNDED, sent.id))
await call('deletePendingTransactions', () => relayers.deletePendingTransactions(FUNDED))
await call('deleteRelayer', () => relayers.deleteRelayer('theirs'))
await call('deleteSigner', () => signers.deleteSigner('their-key'))
await call('deleteNotification', () => notifications.deleteNotification('hook'))
console.log(JSON.stringify(results))
`

const folder = folderWith({ 'package.json': '{"private": true, "type": "module"}', 'script.js': script })
beforeAll(() => run(folder, 'npm', ['install', '--ignore-scripts', '@openzeppelin/relayer-sdk@1.10.0']))

test('the SDK of the OpenZeppelin Relayer: each operation for EVM, except updateSigner', async () => {
  const { rig, account } = await startRelayer({ chain: { noMining: true } })
  const printed = await run(folder, process.execPath, ['script.js'], {
    BASE_URL: rig.url(),
    API_KEY: rig.api_key,
    CHAIN_URL: rig.chain.url,
    FUNDED: account.relayer_id,
  })
  const { updateSigner, ...others } = JSON.parse(printed) as Record<string, { status: number; refusal?: object }>
  expect(updateSigner).toMatchObject({ status: 405 })
  expect(Object.keys(others)).toHaveLength(31)
  expect(Object.entries(others).filter(([, { refusal }]) => refusal !== undefined)).toEqual([])
})
