import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Relayer, Transaction } from '../../client/index.ts'
import { testChain } from '../support/chain.ts'
import { counterAbi, counterBytecode } from '../support/counter.ts'
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

test('pauses, resumes and drains a relayer, and shows and reconciles its nonces', async () => {
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
  expect(await json(['reconcile', 'demo'])).toMatchObject({ status: 'in_step' })
})

test('funds a relayer from another one, shows it, and sweeps what is left', async () => {
  const { chain, service, run, json } = await start()
  const { data: signer } = await service.client.post('/api/v1/signers', { body: { type: 'generated' } })
  const body = { id: 'treasury', name: 'Treasury', network: 'local', network_type: 'evm', paused: false } as const
  const treasury = await service.client.relayers.create({ ...body, signer_id: signer.id })
  await chain.setBalance(treasury.address, 10n ** 20n)
  expect((await run(['fund', '--help'])).out).toContain('max_amount_per_day')
  const set = [
    'treasury_id=treasury',
    'min_balance=1ether',
    'target_balance=2ether',
    'max_amount_per_day=3ether',
    'max_fee_per_gas=9gwei',
  ]
  expect(await json(['fund', 'demo', ...set.flatMap((its) => ['--set', its])])).toMatchObject({
    funding: { min_balance: `${10n ** 18n}`, max_fee_per_gas: '9000000000' },
  })
  expect(await json(['funding', 'demo'])).toMatchObject({ funding: { treasury_id: 'treasury' } })
  await run(['unfund', 'demo'])
  expect((await run(['funding', 'demo'])).err).toContain('the relayer has no funding')
  expect(await json(['sweep', to, 'treasury', '--keep-amount', '1ether'])).toMatchObject({ to, relayer_id: 'treasury' })
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
  // A script that sends only after a dry run stops.
  await run(['policies', 'change', 'demo', '--set', 'max_value=1'])
  const refused = await run([...send, '--dry-run'])
  expect(refused).toMatchObject({
    code: 3,
    out: expect.stringContaining('max_value'),
    err: expect.stringContaining('refused'),
  })
  expect((await run(['send', '--pool', 'none', '--to', to])).err).toContain('no pool has this id')

  const { token } = await service.client.apiKeys.create({ name: 'pool', scopes: ['read'], pool_ids: ['payouts'] })
  const limited = relayerCommand({ url: service.url, api_key: token })
  expect(await limited.json(['tx', 'show', sent.id])).toMatchObject({ id: sent.id })
  expect((await limited.run(['why', sent.id])).code).toBe(0)
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
  // A list takes one value, and the same member again another one.
  const key = ['keys', 'create', '--set', 'name=a', '--set', 'scopes=send', '--set', 'scopes=read']
  expect(await json(key)).toMatchObject({ api_key: { scopes: ['send', 'read'] } })
  for (const [wrong, told] of [
    ['max_value=1eth', /must be in wei or have a unit, for example 1000, 2\.5gwei or 0\.1ether; it is 1eth/],
    ['max_value=0.5', /it is 0\.5/],
    ['max_valu=1', /did you mean max_value\?/],
  ] as const)
    expect.soft((await run(['policies', 'change', 'demo', '--set', wrong])).err).toMatch(told)
  expect((await run(['policies', 'change', '--help'])).out).toMatch(/^ {2}max_value_per_day +amount in wei/m)
  const signers = (await run(['signers', 'create', '--help'])).out
  expect(signers).toMatch(/^ {2}type +plain \| keystore \| generated \| aws_kms /m)
  expect(signers).toMatch(/^ {2}config\.role_id +text \(vault\): /m)
  const create = (await run(['relayers', 'create', '--help'])).out
  expect(create).toMatch(/^ {2}notification_ids +list of text: /m)
  expect(create).toMatch(/^ {2}signer_id +text \(required\): /m)
  expect(create).toMatch(/^ {2}paused +boolean \(default: false\)/m)
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

test("decodes a contract's custom error by the ABI of --call, before it sends", async () => {
  const { service, relayer, run } = await start({ blockTime_s: 0.3 })
  const created = await service.client.transactions.send('demo', { data: counterBytecode }, { wait: 'confirmed' })
  const address = created.receipt?.contract_address as string
  const file = join(temporaryFolder(), 'counter.json')
  writeFileSync(file, JSON.stringify({ abi: counterAbi }))
  const { code, err } = await run(['send', '--to', address, '--abi', file, '--call', 'fail', '-r', relayer.id])
  expect([code, err]).toEqual([3, expect.stringContaining('would revert: execution reverted: Broke(why: 7)')])
})
