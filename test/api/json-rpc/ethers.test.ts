import {
  Contract,
  ContractFactory,
  FetchRequest,
  isCallException,
  JsonRpcProvider,
  type TransactionReceipt,
  verifyMessage,
  verifyTypedData,
} from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import { counterAbi, counterBytecode } from '../../support/counter.ts'
import { hashesOf, spike } from '../../support/fee-spike.ts'
import { jsonRpcOf } from '../../support/json-rpc.ts'
import type { RigOptions } from '../../support/rig.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const to = `0x${'5a'.repeat(20)}`

/** ethers as its users have it: a provider with a header. */
async function start(options: RigOptions = {}) {
  const rig = await testRig(options)
  const account = await rig.addAccount()
  const { url, headers } = jsonRpcOf(rig.url(), rig.api_key, account.relayer_id)
  const request = new FetchRequest(url)
  request.setHeader('Authorization', headers.Authorization as string)
  const provider = new JsonRpcProvider(request, undefined, { pollingInterval: 100 })
  onTestFinished(() => provider.destroy())
  return { rig, account, provider, signer: await provider.getSigner() }
}

test('ethers 6: deploys, calls, waits and decodes a custom error', async () => {
  const { provider, signer, account } = await start()
  expect(signer.address.toLowerCase()).toBe(account.address)
  expect((await provider.getNetwork()).chainId).toBe(31_337n)
  const deployed = await new ContractFactory(counterAbi as never, counterBytecode, signer).deploy()
  await deployed.waitForDeployment()
  const counter = new Contract(await deployed.getAddress(), counterAbi as never, signer)
  const sent = await counter.getFunction('set')(42n)
  const receipt: TransactionReceipt = await sent.wait()
  expect(receipt).toMatchObject({ status: 1, hash: sent.hash })
  expect(await counter.getFunction('get')()).toBe(42n)
  // ethers names the custom error of a call; of a transaction, whose gas it estimates first, it has the bytes.
  const fail = counter.getFunction('fail')
  const called = await fail.staticCall().catch((error: unknown) => error)
  expect(isCallException(called) && called.revert).toMatchObject({ name: 'Broke', args: [7n] })
  const [bytes = ''] = /0x[0-9a-f]{72}/.exec(String(await fail().catch((error: unknown) => error))) ?? []
  expect(counter.interface.parseError(bytes)).toMatchObject({ name: 'Broke', args: [7n] })
  // With a gas limit nothing is estimated: it is sent, and reverts in its block.
  const reverting = await fail({ gasLimit: 100_000n })
  await expect(reverting.wait()).rejects.toMatchObject({ code: 'CALL_EXCEPTION', receipt: { status: 0 } })
  const transfer = await signer.sendTransaction({ to, value: 1n, nonce: await signer.getNonce('pending') })
  expect((await transfer.wait(1))?.status).toBe(1)
})

test('ethers 6: signs messages of text and of bytes, and typed data', async () => {
  const { signer } = await start()
  expect(verifyMessage('Hello', await signer.signMessage('Hello'))).toBe(signer.address)
  expect(verifyMessage('0x12', await signer.signMessage('0x12'))).toBe(signer.address)
  const bytes = Uint8Array.of(0, 1, 255)
  expect(verifyMessage(bytes, await signer.signMessage(bytes))).toBe(signer.address)
  const domain = { name: 'Exchange', version: '1', chainId: 31_337n, verifyingContract: to }
  const types = { Order: [{ name: 'amount', type: 'uint256' }] }
  const value = { amount: 2n ** 255n }
  expect(verifyTypedData(domain, types, value, await signer.signTypedData(domain, types, value))).toBe(signer.address)
})

test('ethers 6: returns the right receipt from wait() after a higher price', async () => {
  const { rig, signer, account, provider } = await start({ chain: { noMining: true } })
  const deployed = await new ContractFactory(counterAbi as never, counterBytecode, signer).deploy()
  const sent = deployed.deploymentTransaction()
  const ended = sent?.wait()
  await spike(rig, 0)
  await account.finished(rig.chain.mine)
  // ethers looks again only after a new block, and may have seen the last one before the service knew the receipt.
  let hasEnded = false
  void ended?.finally(() => {
    hasEnded = true
  })
  await until('ethers has the receipt', () => hasEnded, rig.chain.mine)
  const receipt = await ended
  const [, ...later] = await hashesOf(rig, 0)
  expect(later).toContain(receipt?.hash)
  expect(receipt).toMatchObject({ status: 1, contractAddress: await deployed.getAddress() })
  expect(await provider.getCode(await deployed.getAddress())).not.toBe('0x')
  // A later request, also for the first hash, gets the same response.
  expect((await provider.waitForTransaction(sent?.hash ?? ''))?.hash).toBe(receipt?.hash)
})
