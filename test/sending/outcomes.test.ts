import { concat, hexlify, id as keccakOf, toBeHex } from 'ethers'
import { expect, test } from 'vitest'
import type { Transaction } from '../../client/index.ts'
import type { Anvil } from '../support/anvil.ts'
import { columnOf } from '../support/service-database.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const start = () => testRig({ chain: { noMining: true } })
const transactionPath = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'

interface NodeReceipt {
  gasUsed: string
  effectiveGasPrice: string
  blockNumber: string
  blockHash: string
  contractAddress: string | null
}

/** The receipt as the node gives it, in the form of the contract. */
async function receiptBy(chain: Anvil, { hash }: Transaction, logsCount: number) {
  const receipt = await chain.rpc<NodeReceipt>('eth_getTransactionReceipt', [hash])
  const [gasUsed, price] = [Number(receipt.gasUsed), BigInt(receipt.effectiveGasPrice)]
  return {
    block_number: Number(receipt.blockNumber),
    block_hash: receipt.blockHash,
    gas_used: gasUsed,
    effective_gas_price: price.toString(),
    fee: (BigInt(gasUsed) * price).toString(),
    l1_fee: null,
    contract_address: receipt.contractAddress,
    logs_count: logsCount,
  }
}

/** Code that reverts with these bytes: CODECOPY of the bytes after the first 12, and REVERT. */
const revertingWith = (data: string) => {
  const length = toBeHex((data.length - 2) / 2, 2)
  return concat(['0x61', length, '0x80', '0x600c', '0x6000', '0x39', '0x6000', '0xfd', data])
}
const errorString = (text: string) =>
  concat(['0x08c379a0', toBeHex(32, 32), toBeHex(text.length, 32), hexlify(Buffer.from(text.padEnd(32, '\0')))])

// PUSH1 0, PUSH1 0, LOG0 twice, without RETURN: a creation that logs.
const loggingCreation = '0x60006000a060006000a0'

test('shows the receipt of the chain for a mined transaction, and none before', async () => {
  const { chain, client, addAccount } = await start()
  const account = await addAccount()
  const [transfer] = await account.send(1)
  const [creation] = await account.send(1, { to: null, data: loggingCreation })
  expect([transfer?.receipt, creation?.receipt, transfer?.error]).toEqual([null, null, null])
  await until('both are with the node', async () =>
    (await account.transactions()).every(({ status }) => status === 'submitted'),
  )
  expect((await account.transactions()).map(({ receipt }) => receipt)).toEqual([null, null])
  await account.finished(chain.mine)

  const [created, sent] = (await account.transactions()) as [Transaction, Transaction]
  expect(sent.receipt).toEqual(await receiptBy(chain, sent, 0))
  expect(created.receipt).toEqual(await receiptBy(chain, created, 2))
  expect(created.receipt?.contract_address).toMatch(/^0x[0-9a-f]{40}$/)
  expect([sent.error, created.error]).toEqual([null, null])
  const path = { relayer_id: account.relayer_id, transaction_id: sent.id }
  expect((await client().get(transactionPath, { path })).data).toEqual(sent)
})

test('includes the receipt of its time in each event', async () => {
  const rig = await start()
  const { chain, addAccount } = rig
  const account = await addAccount()
  await account.send(1)
  await account.finished(chain.mine)
  const bodies = await columnOf<string>(rig, 'SELECT body FROM events ORDER BY row_id')
  const [{ receipt }] = (await account.transactions()) as [Transaction]
  const seen = bodies
    .map((body) => JSON.parse(body))
    .map(({ payload }) => [payload.status, payload.receipt, payload.error])
  expect(seen).toEqual([
    ['pending', null, null],
    ['sent', null, null],
    ['submitted', null, null],
    ['mined', receipt, null],
    ['confirmed', receipt, null],
  ])
})

test('reports errors with a code, the decoded reason and the bytes; out of gas has its own code', async () => {
  const { chain, addAccount } = await start()
  const account = await addAccount()
  const custom = `${keccakOf('Closed(uint256)').slice(0, 10)}${toBeHex(7, 32).slice(2)}`
  const datas = [errorString('sold out!'), custom, `0x${'5e'.repeat(4_097)}`]
  for (const [index, data] of datas.entries()) {
    const to = `0x${'c0'.repeat(19)}${toBeHex(index + 1, 1).slice(2)}`
    await chain.rpc('anvil_setCode', [to, revertingWith(data)])
    await account.send(1, { to, gas_limit: 100_000 })
  }
  // JUMPDEST, PUSH1 0, JUMP: a loop without end. PUSH1 0, PUSH1 0, REVERT.
  await account.send(1, { to: null, data: '0x5b600056', gas_limit: 100_000 })
  await account.send(1, { to: null, data: '0x60006000fd', gas_limit: 100_000 })
  await account.finished(chain.mine)

  const rows = (await account.transactions()).reverse()
  expect(rows.map(({ status, error }) => [status, error])).toEqual([
    ['failed', { code: 'reverted', message: 'sold out!', revert_data: datas[0] }],
    [
      'failed',
      {
        code: 'reverted',
        message: `unknown custom error ${custom.slice(0, 10)} (32 bytes of arguments)`,
        revert_data: custom,
      },
    ],
    // Longer than the stored part, which cannot be decoded.
    ['failed', { code: 'reverted', message: expect.stringMatching(/^\^+…$/), revert_data: null }],
    ['failed', { code: 'out_of_gas', message: 'Out of gas: its gas limit (100000) was too low', revert_data: null }],
    ['failed', { code: 'reverted', message: 'The execution reverted without a reason', revert_data: null }],
  ])
  // The address of a creation that reverted is no contract's.
  expect(rows.map(({ receipt }) => receipt?.contract_address)).toEqual(Array(5).fill(null))
  expect(rows.every(({ receipt }) => receipt !== null && Number(receipt.gas_used) > 0)).toBe(true)
})

test('reports a refusal by every node with the code of the refusal', async () => {
  const { chain, proxies, addAccount } = await testRig({ chain: { noMining: true }, proxies: 2 })
  const account = await addAccount()
  for (const proxy of proxies) await proxy.setFault({ kind: 'rejected' })
  await account.send(1)
  const first = async () => (await account.transactions())[0]
  await until('it is withdrawn', async () => (await first())?.status_reason?.includes('Waits') === true)
  expect((await first())?.error).toBeNull()
  for (const proxy of proxies) await proxy.setFault(undefined)
  await account.finished(chain.mine)
  const message = 'All healthy endpoints refused it: invalid sender'
  expect(await first()).toMatchObject({ status: 'failed', error: { code: 'rejected', message, revert_data: null } })
  // The transfer that took its nonce was paid for.
  expect((await first())?.receipt).toMatchObject({ gas_used: 21_000 })
})

test('removes the receipt in a reorganization, and shows the next one', async () => {
  const { chain, addAccount } = await testRig({ chain: { noMining: true }, confirmations: 5 })
  const account = await addAccount()
  await chain.mine(3)
  await account.send(1)
  const row = async () => (await account.transactions())[0] as Transaction
  await until('it is with the node', async () => (await row()).status === 'submitted')
  await chain.mine()
  await until('it is mined', async () => (await row()).status === 'mined')
  const before = (await row()).receipt
  await chain.reorg(1)
  await chain.mine()
  await until('it is out of its block', async () => (await row()).status === 'submitted')
  expect([(await row()).receipt, (await row()).error]).toEqual([null, null])
  await account.finished(chain.mine)
  const after = await row()
  expect(after.receipt).toEqual(await receiptBy(chain, after, 0))
  expect(after.receipt?.block_hash).not.toBe(before?.block_hash)
})
