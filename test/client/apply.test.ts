import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { differences, readState } from '../../client/cli/desired-state.ts'
import { startRelayerCommand } from '../support/relayer-command.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'
import { rowsOf } from '../support/service-database.ts'

const text = `
networks:
  - name: sepolia
    chain_id: 11155111
    rpc_urls: [http://127.0.0.1:9/v3/secret, { url: 'http://127.0.0.1:10', weight: 5 }]
    explorer_urls: [https://sepolia.etherscan.io]
    private_rpc_urls: [http://127.0.0.1:11/fast, { url: 'http://127.0.0.1:12', private_expiry_blocks: 10 }]
    submission: { mode: private_then_public, after_blocks: 25 }
signers:
  - { id: treasury-key, type: generated }
notifications:
  - id: ledger
    url: https://hooks.example.com/ledger
    signing_key_env: LEDGER_KEY
    filter: { statuses: [confirmed, failed] }
relayers:
  - id: treasury
    name: Treasury
    network: sepolia
    signer_id: treasury-key
    notification_ids: [ledger]
    policies:
      max_value: 1000000000000000000000
      whitelist_receivers: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8']
api_keys:
  - name: payouts
    scopes: [send, read]
    relayer_ids: [treasury]
`

/** With URLs that the service shows in full. */
const onHosts = text.replace('/v3/secret', '').replace('/fast', '')

async function start() {
  const service = await startTestService()
  const file = join(temporaryFolder(), 'relayer.yaml')
  const env = { LEDGER_KEY: 'the key of the ledger' }
  const apply = (state: string, ...options: string[]) => {
    writeFileSync(file, state)
    return startRelayerCommand(service, ['apply', file, ...options], { env }).ended
  }
  const relayer = async () =>
    (await service.client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'treasury' } })).data
  return { ...service, apply, relayer }
}

test('creates what a file describes, then sets only hidden URLs again, then changes only what differs', async () => {
  const service = await start()
  const { client, apply, relayer, logged } = service
  const plan = await apply(text, '--dry-run')
  expect([plan.code, plan.out, plan.err]).toEqual([
    0,
    '',
    'create network sepolia\ncreate signer treasury-key\ncreate notification ledger\ncreate relayer treasury\ncreate api key payouts\n',
  ])
  const asJson = await apply(text, '--dry-run', '--json')
  expect(JSON.parse(asJson.out)[0]).toEqual({ action: 'create', kind: 'networks', name: 'sepolia', changes: [] })
  expect(asJson.out).not.toContain('the key of the ledger')
  expect((await client.get('/api/v1/relayers')).pagination.total_items).toBe(1)
  expect(await apply(text)).toMatchObject({ code: 2, err: expect.stringContaining('Give --yes') })

  const done = await apply(text, '--yes')
  expect(done.code).toBe(0)
  expect(done.out).toMatch(/^token +\S{20,}$/m)
  expect(await relayer()).toMatchObject({
    policies: { max_value: '1000000000000000000000' },
    notification_ids: ['ledger'],
  })
  const { data: hook } = await client.get('/api/v1/notifications/{notification_id}', {
    path: { notification_id: 'ledger' },
  })
  expect(hook.has_signing_key).toBe(true)
  const setAgain =
    'change network sepolia\n    rpc_urls: set again, because the service shows only the hosts\n' +
    '    private_rpc_urls: set again, because the service shows only the hosts\n'
  expect(await apply(text, '--dry-run')).toMatchObject({ code: 0, err: setAgain })
  const nodes = async () =>
    rowsOf<{ rpc_urls: string }>(service, "SELECT rpc_urls FROM networks WHERE name = 'sepolia'")
  const withKey = text.replace('v3/secret', 'v3/another-key')
  expect((await apply(withKey, '--yes')).err).toBe(`${setAgain}changed networks sepolia\n`)
  expect((await nodes())[0]?.rpc_urls).toContain('another-key')

  const changed = text.replace('max_value: 1000000000000000000000', 'max_value: 5').replace('weight: 5', 'weight: 6')
  const again = await apply(changed, '--yes')
  expect(again.err).toContain('change relayer treasury\n    policies.max_value: "1000000000000000000000" -> 5\n')
  expect(again.err).toContain('change network sepolia\n    rpc_urls: ')
  expect(again.err).not.toContain('create')
  expect(again.err).not.toContain('secret')
  expect((await relayer()).policies.whitelist_receivers).toHaveLength(1)
  expect((await apply(changed, '--yes')).err).toBe(`${setAgain}changed networks sepolia\n`)
  expect(logged.join('')).not.toContain('the key of the ledger')
})

const more = `
networks:
  - { name: sepolia, chain_id: 11155111, rpc_urls: ['http://127.0.0.1:9'] }
signers:
  - { id: reserve-key, type: generated }
  - { id: hot-key, type: generated }
abis:
  - id: usdc
    network: sepolia
    address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    abi: ['function transfer(address to, uint256 amount)']
relayers:
  - id: hot
    name: Hot
    network: sepolia
    signer_id: hot-key
    policies: { max_value: 1.5ether }
    funding: { treasury_id: reserve, min_balance: 0.5ether, target_balance: 1ether, max_amount_per_day: 5ether, max_fee_per_gas: 50gwei }
  - { id: reserve, name: Reserve, network: sepolia, signer_id: reserve-key }
pools:
  - { id: payouts, network: sepolia, relayer_ids: [hot, reserve], weights: { reserve: 20 }, policies: { max_value_per_day: 3ether } }
sponsorships:
  - id: game
    pool_id: payouts
    targets: [{ address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', selectors: ['0xa9059cbb'] }]
    max_gas_per_call: 200000
    max_fee_per_call: 0.001ether
    max_fee_per_day: 0.1ether
facilitators:
  - id: shop
    pool_id: payouts
    pay_to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    assets: [{ max_amount_per_payment: 50000, asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' }]
    max_fee_per_payment: 0.001ether
    max_fee_per_day: 0.1ether
api_keys:
  - name: agent
    scopes: [send, read]
    relayer_ids: [hot]
    budget: { assets: [{ max_amount_per_day: 1000000000000000000, asset: coin }], max_transactions_per_hour: 40 }
`

test('creates pools, sponsorships, facilitators, budgets, ABIs and funding, reads units, then finds nothing to do, and changes what differs', async () => {
  const { client, apply } = await start()
  const done = await apply(more, '--yes')
  expect([done.code, done.err]).toEqual([0, expect.stringContaining('create funding hot')])
  // Of the sponsorship, the facilitator and the API key.
  expect(done.out.match(/^token +\S{20,}$/gm)).toHaveLength(3)
  const path = { relayer_id: 'hot' }
  const funding = async () => (await client.get('/api/v1/relayers/{relayer_id}/funding', { path })).data.funding
  expect(await funding()).toMatchObject({ treasury_id: 'reserve', min_balance: '500000000000000000' })
  const { data: hot } = await client.get('/api/v1/relayers/{relayer_id}', { path })
  expect(hot.policies.max_value).toBe(`15${'0'.repeat(17)}`)
  expect(await apply(more, '--yes')).toMatchObject({ code: 0, err: 'Nothing to do\n' })

  const changed = more
    .replace('target_balance: 1ether', 'target_balance: 2ether')
    .replace('relayer_ids: [hot, reserve]', 'relayer_ids: [reserve]')
    .replace("selectors: ['0xa9059cbb']", "selectors: ['0xa9059cbb', '0x095ea7b3']")
    .replace('max_amount_per_payment: 50000', 'max_amount_per_payment: 60000')
    .replace('max_amount_per_day: 1000000000000000000', 'max_amount_per_day: 2000000000000000000')
  const again = await apply(changed, '--yes')
  expect(again.err.match(/^change .*$/gm)).toEqual([
    'change pool payouts',
    'change sponsorship game',
    'change facilitator shop',
    'change funding hot',
    'change api key agent',
  ])
  expect((await funding()).target_balance).toBe(`2${'0'.repeat(18)}`)
  expect(await apply(changed, '--yes')).toMatchObject({ code: 0, err: 'Nothing to do\n' })

  const ended = changed.replace(/funding: \{.*\}/, 'funding: null')
  expect((await apply(ended, '--yes')).err).toContain('delete funding hot')
  const [before, after] = [ended.slice(0, ended.indexOf('facilitators:')), 'facilitators: []\napi_keys: []\n']
  expect((await apply(before + after, '--prune', '--dry-run')).err).toContain(
    'delete api key agent\ndelete facilitator shop\ndelete relayer demo\ndelete signer demo\ndelete network local\n',
  )
  expect((await apply(before + after, '--prune', '--yes')).code).toBe(0)
  expect((await client.get('/api/v1/facilitators')).pagination.total_items).toBe(0)
})

test('checks the whole file against the contract before it changes anything, in a dry run too', async () => {
  const { client, apply } = await start()
  const wrong = more
    .replace('max_value: 1.5ether', 'max_valu: 1')
    .replace('max_gas_per_call: 200000', 'max_gas_per_call: many')
    .replace('treasury_id: reserve, ', '')
    .replace('pay_to: ', 'pay_too: ')
  for (const option of ['--yes', '--dry-run']) {
    const { code, err } = await apply(wrong, option)
    expect([code, err.split('\n')]).toEqual([
      2,
      [
        'Nothing was done:',
        'relayers[0] (hot): policies.max_valu is no member; did you mean max_value?',
        'sponsorships[0] (game): max_gas_per_call must be an integer',
        'facilitators[0] (shop): pay_to is missing',
        'facilitators[0] (shop): pay_too is no member; did you mean pay_to?',
        'relayers[0] (hot).funding: treasury_id is missing',
        '',
      ],
    ])
  }
  expect((await client.get('/api/v1/networks')).pagination.total_items).toBe(1)
})

test('names each value that is wrong in the words of the file, and each name that is nowhere', async () => {
  const { apply } = await start()
  const wrong = onHosts
    .replace('max_value: 1000000000000000000000', 'max_value: 2eth')
    .replace('scopes: [send, read]', 'scopes: [send, reed]')
    .replace('relayer_ids: [treasury]', 'relayer_ids: [treasur]')
    .replace('network: sepolia', 'network: sepolai')
    .replace('signer_id: treasury-key', 'signer_id: demo')
    .replace('[ledger]', 'ledger')
  const { code, err } = await apply(wrong, '--dry-run')
  expect([code, err.split('\n')]).toEqual([
    2,
    [
      'Nothing was done:',
      'relayers[0] (treasury): notification_ids must be a list',
      'relayers[0] (treasury): policies.max_value must be an amount in wei or with a unit, for example 1000, 2.5gwei or 0.1ether',
      'api_keys[0] (payouts): scopes.1 must be one of sign, send, read, notifications, manage',
      'relayers[0] (treasury): network names sepolai, and networks has none of this name; did you mean sepolia?',
      'api_keys[0] (payouts): relayer_ids names treasur, and relayers has none of this name; did you mean treasury?',
      '',
    ],
  ])
})

test('deletes only with --prune, and only of the kinds that the file has', async () => {
  const { client, apply } = await start()
  await apply(onHosts, '--yes')
  const without = onHosts.slice(0, onHosts.indexOf('api_keys:')).replace(/ {2}- id: treasury\n[\s\S]*/, '  []\n')
  expect(await apply(without, '--yes')).toMatchObject({ code: 0, err: 'Nothing to do\n' })
  const pruned = await apply(without, '--prune', '--dry-run')
  // `local` and `demo` are those of the first start.
  const [steps, loss] = pruned.err.split('Deleting')
  expect(steps).toBe('delete relayer treasury\ndelete relayer demo\ndelete signer demo\ndelete network local\n')
  expect(loss).toContain('signer demo destroys its private key')
  expect((await apply(without, '--prune', '--yes')).code).toBe(0)
  expect((await client.get('/api/v1/relayers')).pagination.total_items).toBe(0)
  expect((await client.get('/api/v1/api-keys')).pagination.total_items).toBe(1)
})

test('goes on after a failure half-way, whose place it names', async () => {
  const { apply, relayer } = await start()
  const second = '  - { id: second, name: Second, network: sepolia, signer_id: treasury-key }\n'
  const wrong = onHosts.replace('relayers:\n', `relayers:\n${second}`)
  expect(await apply(wrong, '--yes')).toMatchObject({
    code: 3,
    err: expect.stringContaining("relayers[1] (treasury): body/signer_id: another relayer uses the signer's address"),
  })
  const other = onHosts.replace('signers:\n', 'signers:\n  - { id: other-key, type: generated }\n')
  const rest = await apply(other.replace('signer_id: treasury-key', 'signer_id: other-key'), '--yes')
  expect(rest.err).toMatch(/^create signer other-key\ncreate relayer treasury\ncreate api key payouts\n/)
  expect((await relayer()).id).toBe('treasury')
  const moved = await apply(onHosts.replace('chain_id: 11155111', 'chain_id: 5'), '--yes')
  expect(moved).toMatchObject({
    code: 2,
    err: expect.stringContaining('networks[0] (sepolia): chain_id cannot be changed; it is 11155111'),
  })
})

test('refuses a file with a secret, an unknown kind, or a name that is there twice', () => {
  const wrong = [
    ['signers: [{ id: a, type: plain, config: { key: "0x1" } }]', 'signers[0].config.key is a secret'],
    ['notifications: [{ id: a, url: b, signing_key: c }]', 'signing_key is a secret: give signing_key_env'],
    ['relayer: []', 'did you mean relayers?'],
    ['facilitator: []', 'did you mean facilitators?'],
    ['relayers: [{ id: a, policies: &policies { again: *policies } }]', 'has more than 20 levels'],
    ['relayers: {}', 'relayers must be a list'],
    ['abis: [{ name: Counter }]', /^abis\[0\] must have an id beside its name, for example id: counter$/],
    ['abis: [{}]', /^abis\[0\] must have an id$/],
    ['api_keys: [{ id: a }]', /^api_keys\[0\] must have a name: the service generates the id of one of api_keys$/],
    [
      'relayers: [{ id: a, policies: { whitelist_receivers: [0x70997970c51812dc3a010c7d01b50e0d17dc79c8] } }]',
      '0x70997970c51812dc3a010c7d01b50e0d17dc79c8 must be in quotes: YAML reads it as a number',
    ],
    ['relayers: [{ id: a }, { id: a }]', 'relayers[1]: a is there twice'],
    ['- a', 'The file must have members'],
    ['a: [', 'The file is no YAML'],
  ] as const
  for (const [file, message] of wrong)
    expect(readState(file).faults, file).toEqual([expect.stringMatching(pattern(message))])
})

const pattern = (text: string | RegExp): RegExp =>
  typeof text === 'string' ? new RegExp(text.replaceAll(/[.[\]]/g, '\\$&')) : text

test('names all faults of a file at once: of its form, of its members and of what cannot be changed', async () => {
  const { apply } = await start()
  await apply(onHosts, '--yes')
  const wrong = onHosts
    .replace('chain_id: 11155111', 'chain_id: 5')
    .replace("'0x70997970C51812dc3A010C7d01b50e0d17dc79C8'", '0x70997970c51812dc3a010c7d01b50e0d17dc79c8')
    .replace('scopes: [send, read]', 'scopes: [send, reed]')
    .replace('network: sepolia', 'network: local')
    .replace('max_value: 1000000000000000000000', 'max_valu: 1')
  const { code, err } = await apply(`${wrong}pool: []\nabis: [{ name: Counter }]\n`, '--yes')
  expect([code, err.split('\n')]).toEqual([
    2,
    [
      'Nothing was done:',
      '0x70997970c51812dc3a010c7d01b50e0d17dc79c8 must be in quotes: YAML reads it as a number',
      expect.stringMatching(/^pool is none of networks, .*; did you mean pools\?$/),
      'abis[0] must have an id beside its name, for example id: counter',
      'networks[0] (sepolia): chain_id cannot be changed; it is 11155111. Give the entry another name, which makes another one',
      'relayers[0] (treasury): network cannot be changed; it is sepolia. Give the entry another id, which makes another one',
      'relayers[0] (treasury): policies.max_valu is no member; did you mean max_value?',
      'api_keys[0] (payouts): scopes.1 must be one of sign, send, read, notifications, manage',
      '',
    ],
  ])
})

test('carries out the examples of docs/clients.md', async () => {
  const docs = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'clients.md'), 'utf8')
  const { apply } = await start()
  const examples = [...docs.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml]) => yaml as string)
  const counts: number[] = []
  for (const example of examples) {
    const { code, err } = await apply(example, '--yes')
    counts.push(code === 0 ? (err.match(/^create /gm)?.length ?? 0) : -1)
    expect((await apply(example, '--dry-run')).err).toBe('Nothing to do\n')
  }
  expect(counts).toEqual([6, 7])
})

test('compares values in any form in which they can be written', () => {
  const same = [
    [{ cap: 5 }, { cap: '5' }],
    [{ to: '0xAB' }, { to: '0xab' }],
    [{ list: ['0xAB'] }, { list: ['0xab'] }],
    [{ gone: null }, {}],
    [{ list: [{ b: 1, a: 2 }] }, { list: [{ a: '2', b: '1', gone: null }] }],
    [{ policies: { a: 1 } }, { policies: { a: '1', b: '2' } }],
    [{ rpc_urls: ['https://a.example.com/***'] }, { rpc_urls: [{ url: 'https://a.example.com/***', weight: 100 }] }],
    [{ config: { url: 'x' } }, {}],
  ] as const
  for (const [entry, current] of same) expect(differences(entry, current), JSON.stringify(entry)).toEqual([])
  expect(differences({ policies: { a: 2 }, name: 'B' }, { policies: { a: '1' }, name: 'A' })).toEqual([
    { member: 'policies.a', before: '1', after: 2 },
    { member: 'name', before: 'A', after: 'B' },
  ])
})
