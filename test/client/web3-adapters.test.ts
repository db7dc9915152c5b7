import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BrowserProvider, ContractFactory, getAddress, type InterfaceAbi, verifyMessage, verifyTypedData } from 'ethers'
import { createWalletClient, type Hex, http, publicActions, verifyMessage as verifyInViem } from 'viem'
import { foundry } from 'viem/chains'
import { expect, test } from 'vitest'
import { RelayerSigner } from '../../client/ethers.ts'
import { createRelayerClient, type Transaction } from '../../client/index.ts'
import { createRelayerProvider } from '../../client/provider.ts'
import { relayerAccount, relayerLocalAccount, relayerTransport } from '../../client/viem.ts'
import { testRig } from '../support/test-rig.ts'

const file = join(import.meta.dirname, '..', '..', 'client', 'examples', 'counter.json')
const { abi, bytecode } = JSON.parse(readFileSync(file, 'utf8')) as { abi: InterfaceAbi & []; bytecode: Hex }
const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const gwei = 10n ** 9n
/** Longer than the tier `average` waits for a block before it pays more. */
const patienceMs = 130_000
const bytes = Uint8Array.of(0xff, 0, 0x80)
const domain = { name: 'Shop', chainId: 31_337 }
const types = {
  Order: [
    { name: 'amount', type: 'uint256' },
    { name: 'data', type: 'bytes' },
  ],
}
const order = { amount: 2n ** 200n, data: '0xff00' as const }

/** A relayer on a chain that makes a block every 0.2 s, or when the test says so. */
async function start(chain: { noMining: true } | { blockTime_s: number } = { blockTime_s: 0.2 }) {
  const rig = await testRig({ chain })
  const account = await rig.addAccount()
  const client = rig.client()
  const mineAt = async (wei: bigint) => {
    await rig.chain.setBaseFee(wei)
    await rig.chain.mine()
  }
  return {
    rig,
    account,
    client,
    mineAt,
    signer: new RelayerSigner(client, account.relayer_id),
    /** Blocks whose base fee is ten times the first one, and time passes, until it is settled. */
    async spikeUntil<T>(settled: Promise<T>): Promise<T> {
      let isSettled = false
      const end = settled.finally(() => {
        isSettled = true
      })
      end.catch(() => {})
      while (!isSettled) {
        rig.clock.ahead_ms += patienceMs
        await mineAt(10n * gwei)
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
      return end
    },
    attempts: async (id: string) => {
      const path = { relayer_id: account.relayer_id, transaction_id: id }
      const onePath = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/attempts'
      return (await client.get(onePath, { path })).data
    },
  }
}

/** Breaks the connection after the request was sent, once. */
function breakOnce(rig: Awaited<ReturnType<typeof testRig>>) {
  const keys: (string | null)[] = []
  const client = createRelayerClient({
    baseUrl: rig.url(),
    token: rig.api_key,
    async fetch(request) {
      const key = request.headers.get('Idempotency-Key')
      const response = await fetch(request)
      if (key === null) return response
      keys.push(key)
      if (keys.length > 1) return response
      await response.text()
      throw new TypeError('fetch failed')
    },
  })
  return { client, keys }
}

test('ethers: deploys, calls and signs with the signer', async () => {
  const { signer, account } = await start()
  const counter = await new ContractFactory(abi, bytecode, signer).deploy()
  await counter.waitForDeployment()
  await (await counter.getFunction('add')(5, { customData: { speed: 'fast' } })).wait()
  expect(await counter.getFunction('count')()).toBe(5n)
  await expect(counter.getFunction('add')(0)).rejects.toThrow('nothing to add')

  const address = getAddress(account.address)
  expect(verifyMessage('0x12', await signer.signMessage('0x12'))).toBe(address)
  expect(verifyMessage(bytes, await signer.signMessage(bytes))).toBe(address)
  expect(verifyTypedData(domain, types, order, await signer.signTypedData(domain, types, order))).toBe(address)
  const [newest] = await account.transactions()
  expect(newest).toMatchObject({ speed: 'fast', speed_percentile: 85 })
})

test('ethers: distinguishes a receipt, a revert, a cancellation and a timeout by ethers’ error codes', async () => {
  const { signer, account, client, rig } = await start({ noMining: true })
  const mined = await signer.sendTransaction({ to, value: 7n })
  await expect(mined.wait(1, 1)).rejects.toMatchObject({ code: 'TIMEOUT' })
  await rig.chain.mine()
  expect(await mined.wait()).toMatchObject({ hash: mined.hash, status: 1 })
  expect(await mined.wait(0)).toMatchObject({ hash: mined.hash })

  // It reverts; with a gas limit nobody tries it before.
  const reverting = await signer.sendTransaction({ data: '0x60006000fd', gasLimit: 100_000 })
  await rig.chain.mine()
  await expect(reverting.wait()).rejects.toMatchObject({ code: 'CALL_EXCEPTION', receipt: { status: 0 } })

  const canceled = await signer.sendTransaction({ to, value: 8n })
  const path = { relayer_id: account.relayer_id, transaction_id: canceled.id }
  await client.delete('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path })
  const hash = async () => (await account.transactions())[0]?.hash
  await expect.poll(hash).not.toBe(canceled.hash)
  const isPooled = async () => (await rig.chain.rpc('eth_getTransactionByHash', [await hash()])) !== null
  await expect.poll(isPooled).toBe(true)
  const wait = expect(canceled.wait()).rejects.toMatchObject({ code: 'CANCELLED' })
  await account.finished(rig.chain.mine)
  await wait

  const accessList = [{ address: to, storageKeys: [`0x${'00'.repeat(32)}`] }]
  const listed = await signer.sendTransaction({ to, accessList, customData: { reference: 'order 7' } })
  expect(listed.accessList).toEqual([{ ...accessList[0], address: getAddress(to) }])
  expect((await account.transactions())[0]).toMatchObject({ reference: 'order 7', access_list: [{ address: to }] })

  const refused = { nonce: 7 }
  await expect(signer.sendTransaction({ to, ...refused })).rejects.toThrow('the service assigns nonces')
  await expect(signer.sendTransaction({ to, chainId: 1 })).rejects.toThrow('the relayer is on chain 31337')
  await expect(signer.sendTransaction({ to, from: to })).rejects.toThrow('is not the address of the relayer')
})

test('ethers: returns the receipt of the mined version from wait() after a higher price', async () => {
  const { signer, mineAt, spikeUntil, attempts } = await start({ noMining: true })
  await mineAt(gwei)
  const sent = await signer.sendTransaction({ to, value: 1n })
  const receipt = await spikeUntil(sent.wait())
  expect(receipt).toMatchObject({ status: 1, to: getAddress(to) })
  expect(receipt?.hash).not.toBe(sent.hash)
  expect((await attempts(sent.id)).length).toBeGreaterThan(1)

  const counter = await spikeUntil(
    new ContractFactory(abi, bytecode, signer).deploy().then((one) => one.waitForDeployment()),
  )
  await mineAt(gwei)
  const call = await counter.getFunction('add')(5)
  expect(await spikeUntil(call.wait())).toMatchObject({ status: 1 })
})

test('ethers: repeats a request without a response under its idempotency key, and uses a new key for each call', async () => {
  const { rig, account } = await start()
  const { client, keys } = breakOnce(rig)
  const signer = new RelayerSigner(client, account.relayer_id)
  await signer.sendTransaction({ to, value: 1n })
  await signer.sendTransaction({ to, value: 1n })
  await signer.sendTransaction({ to, value: 1n, customData: { idempotencyKey: 'own' } })
  expect(keys[1]).toBe(keys[0])
  expect(new Set(keys).size).toBe(3)
  expect(keys[3]).toBe('own')
  expect(await account.transactions()).toHaveLength(3)
})

test('viem: deploys, calls and signs with account and transport, also after a higher price', async () => {
  const { rig, account, client, mineAt, spikeUntil, attempts } = await start({ noMining: true })
  const relayer = createWalletClient({
    account: await relayerAccount(client, account.relayer_id),
    chain: foundry,
    transport: relayerTransport(client, account.relayer_id),
    pollingInterval: 100,
  }).extend(publicActions)
  await mineAt(gwei)
  const deployment = await relayer.deployContract({ abi, bytecode })
  const deployed = await spikeUntil(relayer.waitForTransactionReceipt({ hash: deployment }))
  const [first] = await account.transactions()
  expect((await attempts((first as Transaction).id)).length).toBeGreaterThan(1)
  expect(deployed.status).toBe('success')
  const address = deployed.contractAddress as Hex

  const hash = await relayer.writeContract({ address, abi, functionName: 'add', args: [5n] })
  await rig.chain.mine()
  await spikeUntil(relayer.waitForTransactionReceipt({ hash }))
  expect(await relayer.readContract({ address, abi, functionName: 'count' })).toBe(5n)
  const failing = relayer.simulateContract({ address, abi, functionName: 'add', args: [0n] })
  await expect(failing).rejects.toThrow('nothing to add')

  const by = { address: account.address as Hex }
  expect(
    await verifyInViem({ ...by, message: 'Hello', signature: await relayer.signMessage({ message: 'Hello' }) }),
  ).toBe(true)
  const raw = { raw: '0xff0080' } as const
  expect(await verifyInViem({ ...by, message: raw, signature: await relayer.signMessage({ message: raw }) })).toBe(true)
  const signature = await relayer.signTypedData({ domain, types, primaryType: 'Order', message: order })
  expect(verifyTypedData(domain, types, order, signature)).toBe(getAddress(account.address))
})

test('viem: signs as a local account, with a transport of its own', async () => {
  const { rig, account, client } = await start()
  const local = await relayerLocalAccount(client, account.relayer_id)
  const wallet = createWalletClient({ account: local, chain: foundry, transport: http(rig.chain.url) }).extend(
    publicActions,
  )
  const by = { address: local.address }
  for (const message of ['Hello', '', { raw: '0xff0080' }, { raw: bytes }] as const) {
    expect(await verifyInViem({ ...by, message, signature: await wallet.signMessage({ message }) })).toBe(true)
  }
  const signature = await wallet.signTypedData({ domain, types, primaryType: 'Order', message: order })
  expect(verifyTypedData(domain, types, order, signature)).toBe(getAddress(account.address))
  const hash = await wallet.sendTransaction({ to, value: 1n })
  expect(await wallet.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success', from: local.address })
})

test('viem and EIP-1193: sends a transaction once when its response is lost', async () => {
  const { rig, account } = await start()
  const { client, keys } = breakOnce(rig)
  const transport = relayerTransport(client, account.relayer_id)
  const wallet = createWalletClient({
    account: await relayerAccount(client, account.relayer_id),
    chain: foundry,
    transport,
  })
  await wallet.sendTransaction({ to, value: 1n })
  expect(keys).toHaveLength(2)
  expect(await account.transactions()).toHaveLength(1)
})

test('EIP-1193: serves other libraries, with code and data in errors', async () => {
  const { client, account } = await start()
  const provider = createRelayerProvider(client, account.relayer_id)
  expect(await provider.request({ method: 'eth_requestAccounts' })).toEqual([account.address])
  const signer = await new BrowserProvider(provider).getSigner()
  expect(await (await signer.sendTransaction({ to, value: 1n })).wait()).toMatchObject({ status: 1 })
  await expect(provider.request({ method: 'eth_sign', params: [account.address, '0x'] })).rejects.toMatchObject({
    name: 'ProviderRpcError',
    code: -32601,
  })
  expect(provider.on('chainChanged', () => {}).removeListener('chainChanged', () => {})).toBe(provider)
})
