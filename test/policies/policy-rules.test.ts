import { Interface } from 'ethers'
import { describe, expect, test } from 'vitest'
import { type RelayerClient, RelayerError, type RelayerPoliciesInput } from '../../client/index.ts'
import { testChain } from '../support/chain.ts'
import { type Asked, fee, refusalOf, unsigned } from '../support/policies.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'

const relayerPath = '/api/v1/relayers/{relayer_id}'
const sendPath = '/api/v1/relayers/{relayer_id}/transactions'
const [to, other, token] = [`0x${'12'.repeat(20)}`, `0x${'34'.repeat(20)}`, `0x${'56'.repeat(20)}`]
const erc20 = new Interface([
  'function transfer(address, uint256)',
  'function transferFrom(address, address, uint256)',
  'function approve(address, uint256)',
  'function increaseAllowance(address, uint256)',
  'function burn(uint256)',
])
const call = (name: string, ...args: unknown[]) => erc20.encodeFunctionData(name, args)
const [transfer, burn] = ['0xa9059cbb', '0x42966c68']
const limited = (maxAmount: string) => ({ token_limits: [{ asset: token, max_amount_per_transaction: maxAmount }] })

type Case = [title: string, policies: RelayerPoliciesInput, asked: Asked, refusedBy: string[]]

const functions = (...selectors: string[]) => ({ allowed_functions: [{ address: to, selectors }] })
const rules: Case[] = [
  ['nothing is limited', {}, { value: '5' }, []],
  ['a receiver that is listed', { whitelist_receivers: [to] }, {}, []],
  ['another one', { whitelist_receivers: [other] }, {}, ['whitelist_receivers']],
  ['none, to make a contract', { whitelist_receivers: [to] }, { to: null, data: '0x00' }, ['whitelist_receivers']],
  ['a function that is listed', functions('0xA9059CBB'), { data: call('transfer', to, 1) }, []],
  ['another function', functions(transfer), { data: call('burn', 1) }, ['allowed_functions']],
  ['a call without data that is not listed', functions(transfer), {}, ['allowed_functions']],
  ['one that is', functions('0x'), {}, []],
  ['a call with data where only those without are', functions('0x'), { data: '0x00' }, ['allowed_functions']],
  ['less than a selector', functions(transfer, '0x'), { data: '0xa9059c' }, ['allowed_functions']],
  ['no function at all', functions(), {}, ['allowed_functions']],
  ['a receiver without an entry', functions(), { to: other, data: call('burn', 1) }, []],
  ['as much value as is allowed', { max_value: '5' }, { value: '5' }, []],
  ['more', { max_value: '5' }, { value: '6' }, ['max_value']],
  ['the value of a creation', { max_value: '5' }, { to: null, data: '0x00', value: '6' }, ['max_value']],
  ['as much value as a day has', { max_value_per_day: '5' }, { value: '5' }, []],
  ['more than a day has', { max_value_per_day: '5' }, { value: '6' }, ['max_value_per_day']],
  ['nothing on a day that has nothing', { max_value_per_day: 0n }, { value: '0' }, []],
  ['a token within its limit', limited('7'), { to: token, data: call('transfer', to, 7) }, []],
  ['transfer', limited('7'), { to: token, data: call('transfer', to, 8) }, ['token_limits']],
  ['transferFrom', limited('7'), { to: token, data: call('transferFrom', to, other, 8) }, ['token_limits']],
  ['approve', limited('7'), { to: token, data: call('approve', to, 2n ** 256n - 1n) }, ['token_limits']],
  ['increaseAllowance', limited('7'), { to: token, data: call('increaseAllowance', to, 8) }, ['token_limits']],
  ['short arguments', limited('7'), { to: token, data: call('transfer', to, 1).slice(0, -2) }, ['token_limits']],
  ['long arguments', limited('7'), { to: token, data: `${call('transfer', to, 1)}00` }, ['token_limits']],
  ['another function of the token', limited('7'), { to: token, data: call('burn', 1) }, ['token_limits']],
  ['a call of the token without data', limited('7'), { to: token }, ['token_limits']],
  [
    'one that is listed',
    { ...limited('7'), allowed_functions: [{ address: token, selectors: [burn] }] },
    { to: token, data: call('burn', 8) },
    [],
  ],
  [
    'a listed transfer is counted all the same',
    { ...limited('7'), allowed_functions: [{ address: token, selectors: [transfer] }] },
    { to: token, data: call('transfer', to, 8) },
    ['token_limits'],
  ],
  ['another token', limited('7'), { to: other, data: call('transfer', to, 8) }, []],
  [
    'more of a token than a day has',
    { token_limits: [{ asset: token, max_amount_per_day: 7n }] },
    { to: token, data: call('approve', to, 8) },
    ['token_limits'],
  ],
  [
    'as much as a day has',
    { token_limits: [{ asset: token, max_amount_per_day: 7n }] },
    { to: token, data: call('approve', to, 7) },
    [],
  ],
  ['the highest fee', { gas_price_cap: `${fee}` }, { max_fee_per_gas: fee }, []],
  ['a higher one', { gas_price_cap: `${fee}` }, { max_fee_per_gas: fee + 1n }, ['gas_price_cap']],
  ['a higher gas price', { gas_price_cap: `${fee}` }, { gas_price: fee + 1n }, ['gas_price_cap']],
  [
    'all that is against it is told',
    { whitelist_receivers: [other], max_value: '5', ...functions() },
    { value: '6' },
    ['whitelist_receivers', 'max_value', 'allowed_functions'],
  ],
]

describe('every rule on every path that signs a transaction', () => {
  const paths: Record<string, (client: RelayerClient, relayerId: string, asked: Asked) => Promise<unknown>> = {
    send: (client, relayerId, asked) => client.post(sendPath, { path: { relayer_id: relayerId }, body: bodyOf(asked) }),
    replace: async (client, relayerId, asked) => {
      const { data } = await client.get('/api/v1/relayers/{relayer_id}/transactions/', {
        path: { relayer_id: relayerId },
      })
      const path = { relayer_id: relayerId, transaction_id: data[0]?.id as string }
      return client.put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path, body: bodyOf(asked) })
    },
    'sign-transaction': (client, relayerId, asked) =>
      client.post('/api/v1/relayers/{relayer_id}/sign-transaction', {
        path: { relayer_id: relayerId },
        body: { unsigned_transaction: unsigned(asked) },
      }),
    'dry-run': async (client, relayerId, asked) => {
      const path = { relayer_id: relayerId }
      const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions/dry-run', {
        path,
        body: bodyOf(asked),
      })
      const details = data.refusals.flatMap((refusal) => refusal.details)
      if (!data.accepted) throw new RelayerError(403, 'Forbidden', { code: 'policy_violation', details })
      return data
    },
  }

  test.each(Object.entries(paths))('%s', async (name, act) => {
    const chain = await testChain({ noMining: true })
    const { client } = await startTestService()
    const rpcUrls = [chain.url]
    await client.patch('/api/v1/networks/{network_id}', {
      path: { network_id: 'evm:local' },
      body: { rpc_urls: rpcUrls },
    })
    for (const [title, policies, asked, refusedBy] of rules) {
      const { id: relayerId, address } = await createRelayer(client)
      await chain.setBalance(address, 10n ** 20n)
      if (name === 'replace') {
        const prices = { max_fee_per_gas: '2000000000', max_priority_fee_per_gas: '1' }
        const body = { to: other, value: '0', gas_limit: 21_000, ...prices }
        await client.post(sendPath, { path: { relayer_id: relayerId }, body })
      }
      await client.patch(relayerPath, { path: { relayer_id: relayerId }, body: { policies } })
      expect.soft(await refusalOf(act(client, relayerId, asked)), title).toEqual(refusedBy)
    }
  })
})

function bodyOf({ max_fee_per_gas, gas_price, ...asked }: Asked) {
  return {
    to,
    value: '0',
    gas_limit: 100_000,
    ...asked,
    ...(gas_price !== undefined && { gas_price: `${gas_price}` }),
    ...(gas_price === undefined && { max_fee_per_gas: `${max_fee_per_gas ?? fee}` }),
  }
}
