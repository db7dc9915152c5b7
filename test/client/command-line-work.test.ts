import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Relayer, Transaction } from '../../client/index.ts'
import { testChain } from '../support/chain.ts'
import { relayerCommand } from '../support/relayer-command.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'

async function start(options = {}) {
  const chain = await testChain(options)
  const service = await startTestService()
  const path = { network_id: 'evm:local' }
  await service.client.patch('/api/v1/networks/{network_id}', { path, body: { rpc_urls: [chain.url] } })
  const relayer = await service.client.relayers.get('demo')
  await chain.setBalance(relayer.address, 10n ** 20n)
  return { chain, service, relayer, ...relayerCommand(service) }
}

test('pauses, resumes and drains a relayer, and shows and heals its nonces', async () => {
  const { service, run, json } = await start()
  const its = async () => {
    const { paused, policies } = await service.client.relayers.get('demo')
    return [paused, policies.allow_transactions]
  }
  expect((await run(['pause', 'demo'])).out).toBe('demo is paused; to continue: relayer resume demo\n')
  expect(await its()).toEqual([true, undefined])
  await run(['resume', 'demo'])
  expect(await its()).toEqual([false, undefined])
  await run(['drain'])
  expect(await its()).toEqual([false, false])
  await run(['resume'])
  expect(await its()).toEqual([false, undefined])
  expect((await run(['nonce'])).out).toMatch(/^in_step: /)
  expect(await json(['heal', 'demo'])).toMatchObject({ status: 'in_step' })
})

test('funds a relayer from another one, shows it, and sweeps what is left', async () => {
  const { chain, service, run, json } = await start()
  const { data: signer } = await service.client.post('/api/v1/signers', { body: { type: 'generated' } })
  const body = { id: 'treasury', name: 'Treasury', network: 'local', network_type: 'evm', paused: false } as const
  const treasury = await service.client.relayers.create({ ...body, signer_id: signer.id })
  await chain.setBalance(treasury.address, 10n ** 20n)
  expect((await run(['fund', '--help'])).out).toContain('max_per_day')
  const set = [
    'from=treasury',
    'min_balance=1ether',
    'target_balance=2ether',
    'max_per_day=3ether',
    'max_fee_per_gas=9gwei',
  ]
  expect(await json(['fund', 'demo', ...set.flatMap((its) => ['--set', its])])).toMatchObject({
    funding: { min_balance: `${10n ** 18n}`, max_fee_per_gas: '9000000000' },
  })
  expect(await json(['funding', 'demo'])).toMatchObject({ funding: { from: 'treasury' } })
  await run(['unfund', 'demo'])
  expect((await run(['funding', 'demo'])).err).toContain('the relayer has no funding')
  expect(await json(['sweep', to, 'treasury', '--keep', '1ether'])).toMatchObject({ to, relayer_id: 'treasury' })
})

test('sends through a pool, and checks before', async () => {
  const { service, run, json } = await start()
  await service.client.pools.create({ id: 'payouts', network: 'local', relayer_ids: ['demo'] })
  const send = ['send', '--pool', 'payouts', '--to', to, '--value', '1gwei']
  expect(await json([...send, '--dry-run'])).toMatchObject({ accepted: true, relayer_id: 'demo' })
  const once = ['--idempotency-key', 'order-1', '--ordering-key', 'customer']
  const sent = (await json([...send, ...once])) as Transaction
  expect(sent).toMatchObject({ relayer_id: 'demo', value: '1000000000' })
  expect(await json([...send, ...once])).toMatchObject({ id: sent.id })
  expect((await run(['send', '--pool', 'none', '--to', to])).err).toContain('no pool has this id')
})

test('sets amounts with units and members of lists, and lists the members in its help', async () => {
  const { run, json } = await start()
  const changed = await json<Relayer>([
    ...['relayers', 'change', 'demo', '--set', 'policies.max_value=1.5ether', '--set', 'policies.gas_price_cap=50gwei'],
    ...['--set', `policies.whitelist_receivers[]=${to}`, '--set', 'name=1ether'],
  ])
  expect(changed).toMatchObject({
    name: '1ether',
    policies: { max_value: '1500000000000000000', gas_price_cap: '50000000000', whitelist_receivers: [to] },
  })
  const { out } = await run(['relayers', 'change', '--help'])
  expect(out).toMatch(/policies\.max_value +amount in wei, or with a unit/)
  expect(out).toMatch(/paused +boolean/)
})

test('names the command that carries out a suggestion', async () => {
  const { service, run, json } = await start({ noMining: true })
  const { id } = await json<Transaction>(['send', '--to', to, '--value', '1'])
  await run(['pause', 'demo'])
  const { out } = await run(['why', id])
  const [, command = ''] = /\n {4}relayer (.+)\n/.exec(out) ?? []
  expect(command).toBe('relayers change demo --set paused=false')
  await run(command.split(' '))
  expect((await service.client.relayers.get('demo')).paused).toBe(false)
})

test('pays each line of a file once, whatever is repeated, and reports each', async () => {
  const { chain, service, run, json } = await start({ blockTime_s: 0.3 })
  const receiver = (index: number) => `0x${(0xabc000 + index).toString(16).padStart(40, '0')}`
  const lines = Array.from({ length: 25 }, (_, index) => `${receiver(index % 24)},0.001ether`)
  const file = join(temporaryFolder(), 'payouts.csv')
  writeFileSync(file, `to,amount\n${lines.join('\n')}\n`)
  const first = await json<{ status: string; transaction_id: string }[]>(['payouts', file, '--run', 'may'])
  expect(first.map(({ status }) => status)).toEqual(Array(25).fill('confirmed'))
  // The first receiver has two equal lines.
  expect(new Set(first.map(({ transaction_id }) => transaction_id)).size).toBe(25)

  // Repeated, in another order and with one more line, it pays that line only.
  const more = `${receiver(99)},1wei`
  writeFileSync(file, `to,amount\n${[more, ...lines.toReversed()].join('\n')}\n`)
  const { code, err } = await run(['payouts', file, '--run', 'may'])
  expect([code, err]).toEqual([0, expect.stringContaining('26 confirmed, 0 failed')])
  const { pagination } = await service.client.get('/api/v1/transactions')
  expect(pagination.total_items).toBe(26)
  expect(await chain.rpc('eth_getBalance', [receiver(0), 'latest'])).toBe(`0x${(2n * 10n ** 15n).toString(16)}`)
})

test('refuses a payout whose reference was paid with another amount, and pays nothing of a file with a fault', async () => {
  const { service, run, json } = await start({ blockTime_s: 0.3 })
  const pay = (text: string) => run(['payouts', '-', '--run', 'june', '--json'], text)
  expect((await pay(`to,amount,reference\n${to},5,a\n`)).code).toBe(0)
  const again = await pay(`to,amount,reference\n${to},6,a\n`)
  expect([again.code, JSON.parse(again.out)]).toEqual([
    7,
    [
      expect.objectContaining({
        line: 2,
        status: 'not accepted',
        error: expect.stringContaining('was used with another body'),
      }),
    ],
  ])
  const faults: [string, RegExp][] = [
    [`to,amount\n${to},1\nvitalik.eth,1\n`, /^Line 3: vitalik.eth is no address/],
    [`to,amount\n${to},1.5\n`, /^Line 2: An amount must be in wei/],
    [`to,amount\n${to}\n`, /^The file is no CSV/],
    [`address,amount\n${to},1\n`, /^Line 2 needs the columns to and amount/],
    [`to,amount,reference\n${to},1,x\n${to},2,x\n`, /^Line 3: the reference x is not the first/],
    ['to,amount\n', /^The file has no payouts/],
  ]
  for (const [text, message] of faults) {
    const { code, err } = await run(['payouts', '-', '--run', 'july'], text)
    expect.soft([code, err], text).toEqual([2, expect.stringMatching(message)])
  }
  expect(await json(['tx', 'list'])).toHaveLength(1)
  expect((await service.client.get('/api/v1/transactions')).pagination.total_items).toBe(1)
})
