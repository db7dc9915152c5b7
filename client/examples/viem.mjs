// viem as it is: deploys a contract through a relayer, and calls it.
import { readFileSync } from 'node:fs'
import { createWalletClient, http, publicActions } from 'viem'
import { foundry } from 'viem/chains'

const { RELAYER_URL = 'http://127.0.0.1:8080', RELAYER_API_KEY, RELAYER_ID = 'demo' } = process.env
const transport = http(`${RELAYER_URL}/api/v1/relayers/${RELAYER_ID}/rpc`, {
  fetchOptions: { headers: { Authorization: `Bearer ${RELAYER_API_KEY}` } },
})
const [account] = await createWalletClient({ transport }).getAddresses()
const relayer = createWalletClient({ account, chain: foundry, transport, pollingInterval: 1_000 }).extend(publicActions)

const { abi, bytecode } = JSON.parse(readFileSync(new URL('counter.json', import.meta.url), 'utf8'))
const deployment = await relayer.deployContract({ abi, bytecode })
const { contractAddress: address } = await relayer.waitForTransactionReceipt({ hash: deployment })
console.log('deployed at', address)

const hash = await relayer.writeContract({ address, abi, functionName: 'add', args: [5n] })
await relayer.waitForTransactionReceipt({ hash })
console.log('count', await relayer.readContract({ address, abi, functionName: 'count' }))
console.log('signature', await relayer.signMessage({ message: 'Hello' }))
