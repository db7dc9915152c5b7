import {
  BaseError,
  ContractFunctionRevertedError,
  createWalletClient,
  http,
  parseEther,
  publicActions,
  verifyMessage,
  verifyTypedData,
} from 'viem'
import { foundry } from 'viem/chains'
import { expect, test } from 'vitest'
import { counterAbi, counterBytecode } from '../../support/counter.ts'
import { hashesOf, spike } from '../../support/fee-spike.ts'
import { jsonRpcOf } from '../../support/json-rpc.ts'
import type { RigOptions } from '../../support/rig.ts'
import { testRig } from '../../support/test-rig.ts'

const to = `0x${'5a'.repeat(20)}` as const

/** viem as its users have it: a JSON-RPC account, and the http transport with a header. */
async function start(options: RigOptions = {}, batch = false) {
  const rig = await testRig(options)
  const own = await rig.addAccount()
  const { url, headers } = jsonRpcOf(rig.url(), rig.api_key, own.relayer_id)
  const client = createWalletClient({
    account: own.address as `0x${string}`,
    chain: foundry,
    transport: http(url, { batch, fetchOptions: { headers } }),
    pollingInterval: 100,
  }).extend(publicActions)
  return { rig, own, client, address: own.address as `0x${string}` }
}

test.each([false, true])('viem: deploys, writes, waits and decodes a custom error (batches: %s)', async (batch) => {
  const { client, address: account } = await start({}, batch)
  expect(await client.getAddresses()).toMatchObject([expect.stringMatching(new RegExp(account, 'i'))])
  const deployment = await client.deployContract({ abi: counterAbi, bytecode: counterBytecode })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash: deployment })
  const address = contractAddress as `0x${string}`
  const hash = await client.writeContract({ address, abi: counterAbi, functionName: 'set', args: [42n] })
  expect(await client.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success', transactionHash: hash })
  expect(await client.readContract({ address, abi: counterAbi, functionName: 'get' })).toBe(42n)
  const error = await client.simulateContract({ address, abi: counterAbi, functionName: 'fail' }).catch((e) => e)
  const reverted = (error as BaseError).walk((cause) => cause instanceof ContractFunctionRevertedError)
  expect(reverted).toMatchObject({ data: { errorName: 'Broke', args: [7n] } })
  const written = await client.writeContract({ address, abi: counterAbi, functionName: 'fail' }).catch((e) => e)
  expect((written as BaseError).walk((cause) => (cause as { code?: number }).code === 3)).toBeInstanceOf(BaseError)
})

test('viem: signs messages of text and of bytes, and typed data', async () => {
  const { client, address } = await start()
  const text = await client.signMessage({ message: 'Hello' })
  expect(await verifyMessage({ address, message: 'Hello', signature: text })).toBe(true)
  const raw = { raw: '0x0001ff' } as const
  expect(await verifyMessage({ address, message: raw, signature: await client.signMessage({ message: raw }) })).toBe(
    true,
  )
  const document = {
    domain: { name: 'Exchange', version: '1', chainId: 31_337, verifyingContract: to },
    types: { Order: [{ name: 'amount', type: 'uint256' }] },
    primaryType: 'Order',
    message: { amount: 2n ** 255n },
  } as const
  expect(await verifyTypedData({ ...document, address, signature: await client.signTypedData(document) })).toBe(true)
})

test('viem: returns the right receipt from waitForTransactionReceipt after a higher price', async () => {
  const { rig, own, client } = await start({ chain: { noMining: true } })
  const hash = await client.sendTransaction({ to, value: parseEther('0.1') })
  const ended = client.waitForTransactionReceipt({ hash })
  await spike(rig, 0)
  await own.finished(rig.chain.mine)
  const receipt = await ended
  const [first, ...later] = await hashesOf(rig, 0)
  expect(first).toBe(hash)
  expect(later).toContain(receipt.transactionHash)
  expect(receipt.status).toBe('success')
  expect((await client.getTransactionReceipt({ hash })).transactionHash).toBe(receipt.transactionHash)
  expect((await client.getTransaction({ hash })).blockNumber).toBe(receipt.blockNumber)
})
