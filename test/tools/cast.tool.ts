import { join } from 'node:path'
import { TypedDataEncoder, verifyTypedData } from 'ethers'
import { beforeAll, expect, test } from 'vitest'
import { counterBytecode } from '../support/counter.ts'
import { folderWith, freePrice, type Relayer, run, startRelayer, throughSpike } from './tool.ts'

const to = `0x${'5a'.repeat(20)}`
const folder = folderWith({ 'package.json': '{"private": true}' })

beforeAll(() => run(folder, 'npm', ['install', '--ignore-scripts', '@foundry-rs/cast@1.7.1']))

const arch = process.arch === 'x64' ? 'amd64' : process.arch
const binary = join(folder, 'node_modules', '@foundry-rs', `cast-${process.platform}-${arch}`, 'bin', 'cast')

/** cast as its users call it. */
const cast = ({ env }: Relayer, command: string, ...parameters: string[]) =>
  run(folder, binary, [command, ...parameters], {
    ETH_RPC_URL: env.RELAYER_URL,
    ETH_RPC_HEADERS: `Authorization: Bearer ${env.RELAYER_API_KEY}`,
  })

const unlocked = ({ account }: Relayer) => ['--json', '--unlocked', '--from', account.address]

test('cast: sends, deploys, calls and waits', async () => {
  const relayer = await startRelayer()
  const sent = JSON.parse(await cast(relayer, 'send', ...unlocked(relayer), to, '--value', '1'))
  expect(sent).toMatchObject({ status: '0x1', from: relayer.account.address })
  const deployed = JSON.parse(await cast(relayer, 'send', ...unlocked(relayer), '--create', counterBytecode))
  expect(deployed.status).toBe('0x1')
  const address: string = deployed.contractAddress
  const set = JSON.parse(await cast(relayer, 'send', ...unlocked(relayer), address, 'set(uint256)', '42'))
  expect(set.status).toBe('0x1')
  expect(await cast(relayer, 'call', address, 'get()(uint256)')).toBe('42')
  await expect(cast(relayer, 'send', ...unlocked(relayer), address, 'fail()')).rejects.toThrow('execution reverted')
  expect(await cast(relayer, 'nonce', relayer.account.address, '--block', 'pending')).toBe('3')
})

test('cast: signs typed data by the relayer', async () => {
  const relayer = await startRelayer()
  const types = { Order: [{ name: 'amount', type: 'uint256' }] }
  const order = TypedDataEncoder.getPayload({ name: 'Exchange', chainId: 31_337 }, types, { amount: 7 })
  const { address } = relayer.account
  const signature = JSON.parse(await cast(relayer, 'rpc', 'eth_signTypedData_v4', address, JSON.stringify(order)))
  expect(verifyTypedData(order.domain, types, order.message, signature).toLowerCase()).toBe(address)
})

test('cast: returns the right receipt after a higher price', async () => {
  const relayer = await startRelayer({ chain: { noMining: true } })
  const send = () => cast(relayer, 'send', ...unlocked(relayer), to, '--value', '1')
  const { printed, hashes } = await throughSpike(relayer, send, freePrice)
  const { status, transactionHash } = JSON.parse(printed)
  expect(status).toBe('0x1')
  expect(hashes.slice(1)).toContain(transactionHash)
})
