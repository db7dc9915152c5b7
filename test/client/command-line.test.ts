import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Interface, verifyMessage, verifyTypedData } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import type { ApiKey, ApiKeyWithToken, Relayer, Signer, Transaction, TransactionAttempt } from '../../client/index.ts'
import { secretMembers } from '../../generated/client-bodies.ts'
import { testChain } from '../support/chain.ts'
import { relayerCommand, startRelayerCommand } from '../support/relayer-command.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const key = `0x${'46'.repeat(32)}`

async function start() {
  const service = await startTestService()
  const { data: relayer } = await service.client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
  return { service, relayer, ...relayerCommand(service) }
}

async function startOnChain(options = {}) {
  const chain = await testChain(options)
  const started = await start()
  const path = { network_id: 'evm:local' }
  await started.service.client.patch('/api/v1/networks/{network_id}', { path, body: { rpc_urls: [chain.url] } })
  await chain.setBalance(started.relayer.address, 10n ** 20n)
  return { chain, ...started }
}

test('signs a text, bytes and typed data, and prints only the signature', async () => {
  const { relayer, run } = await start()
  const signer = async (...parameters: Parameters<typeof run>) => {
    const { code, out, err } = await run(...parameters)
    expect([code, err]).toEqual([0, ''])
    return out.trim()
  }
  const isBy = (address: string) => expect(address.toLowerCase()).toBe(relayer.address)
  isBy(verifyMessage('Hello', await signer(['sign', 'Hello'])))
  isBy(verifyMessage('0xff', await signer(['sign', '-'], '0xff')))
  isBy(verifyMessage(Uint8Array.of(255), await signer(['sign', '--hex', '0xff'])))
  const types = { Order: [{ name: 'amount', type: 'uint256' }] }
  const message = { amount: '7' }
  const document = JSON.stringify({ types, primaryType: 'Order', domain: { name: 'A' }, message })
  isBy(verifyTypedData({ name: 'A' }, types, message, await signer(['sign', '--typed-data', '-'], document)))
})

test('encodes a call, sends it, waits for it and shows it', async () => {
  const { run, json } = await startOnChain({ blockTime_s: 0.3 })
  const amount = '1000000000000000000000'
  const sent = await json<Transaction>([
    ...['send', '--to', to, '--call', 'transfer(address,uint256)', to, amount],
    ...['--gas-limit', '100000', '--value', '2.5gwei', '--wait', '--timeout', '60'],
  ])
  const data = new Interface(['function transfer(address,uint256)']).encodeFunctionData('transfer', [to, amount])
  expect(sent).toMatchObject({ status: 'confirmed', to, data, value: '2500000000', gas_limit: 100_000 })

  const file = join(temporaryFolder(), 'abi.json')
  writeFileSync(file, JSON.stringify({ abi: ['function set(uint8[] list, bool on)'] }))
  const second = await json<Transaction>([
    ...['send', '--to', to, '--abi', file, '--call', 'set', '[1,2]', 'true'],
    ...['--gas-limit', '100000', '--idempotency-key', 'a', '--reference', 'order 7'],
  ])
  expect(second.data?.slice(0, 10)).toBe(new Interface(['function set(uint8[], bool)']).getFunction('set')?.selector)
  const again = ['send', '--to', to, '--abi', file, '--call', 'set', '[1,2]', 'true', '--gas-limit', '100000']
  again.push('--reference', 'order 7')
  expect((await json<Transaction>([...again, '--idempotency-key', 'a'])).id).toBe(second.id)

  const watched = await run(['tx', 'watch', second.id])
  expect(watched).toMatchObject({ code: 0, out: expect.stringMatching(/ confirmed {2}nonce 1 {2}0x[0-9a-f]{64}\n$/) })
  expect((await json<Transaction[]>(['tx', 'list'])).map(({ id }) => id)).toEqual([second.id, sent.id])
  expect((await run(['tx', 'list', '--limit', '1'])).out).toMatch(
    new RegExp(`^ID .*\\n${second.id} +demo +confirmed +1 [^\\n]+\\n$`),
  )
  expect((await json<Transaction[]>(['tx', 'list', '--reference', 'order 7'])).map(({ id }) => id)).toEqual([second.id])
  expect(await json<Transaction>(['tx', 'show', sent.id])).toEqual(sent)
  expect(await json<Transaction>(['tx', 'show', sent.hash ?? ''])).toEqual(sent)
  expect(await json<TransactionAttempt[]>(['tx', 'attempts', sent.id])).toMatchObject([
    { hash: sent.hash, is_mined: true },
  ])
  expect((await json<{ accepted: boolean }>(['send', '--to', to, '--dry-run'])).accepted).toBe(true)
})

test('speeds up, explains and cancels a transaction, and returns the outcome as the exit code', async () => {
  const { chain, json, run } = await startOnChain({ noMining: true })
  const sent = await json<Transaction>(['send', '--to', to, '--value', '0.1ether', '--max-fee', '3gwei'])
  await expect.poll(async () => (await json<Transaction>(['tx', 'show', sent.id])).status).toBe('submitted')
  const faster = await json<Transaction>(['tx', 'speed-up', sent.id, '--max-fee', '9gwei', '--priority-fee', '3gwei'])
  expect(faster).toMatchObject({ id: sent.id, value: '100000000000000000', speed: 'fastest' })
  expect([3_300_000_000, 9_000_000_000].map((price) => Number(faster.max_fee_per_gas) >= price)).toEqual([true, false])
  const prices = ['--max-fee', '12gwei', '--priority-fee', '5gwei']
  const named = ['--metadata', 'order=8', '--metadata', 'purpose=a=b']
  const replaced = await json<Transaction>(['tx', 'replace', sent.id, '--to', to, '--value', '5', ...named, ...prices])
  const metadata = { order: '8', purpose: 'a=b' }
  expect(replaced).toMatchObject({ id: sent.id, nonce: sent.nonce, value: '5', metadata })
  const found = async (pair: string) => (await json<Transaction[]>(['tx', 'list', '--metadata', pair])).length
  expect([await found('purpose=a=b'), await found('purpose=a')]).toEqual([1, 0])
  expect(await run(['tx', 'watch', sent.id, '--timeout', '0'])).toMatchObject({
    code: 8,
    err: expect.stringContaining(`relayer why ${sent.id}`),
  })
  expect((await run(['why', sent.id])).out).toMatch(/^(?:sent|submitted) since \S+ \((?:acceptance|block)\): Waiting/)
  await json(['relayers', 'change', 'demo', '--set', 'paused=true'])
  expect((await run(['why', sent.id])).out).toMatch(
    / \(paused\): .*\n- .*\n {4}relayer relayers change demo --set paused=false\n/,
  )
  await json(['relayers', 'change', 'demo', '--set', 'paused=false'])
  const watch = run(['tx', 'watch', sent.id])
  expect((await run(['tx', 'cancel', sent.id])).code).toBe(0)
  const mine = setInterval(() => void chain.mine(), 300)
  expect(await watch).toMatchObject({
    code: 7,
    out: expect.stringMatching(/ canceled {3}nonce 0 .*Canceled by request\n$/),
  })
  clearInterval(mine)
})

test('says before a change whether a block would include the new version, of one and of many', async () => {
  const { chain, json, run } = await startOnChain({ noMining: true })
  const send = () => json<Transaction>(['send', '--to', to, '--value', '1', '--max-fee', '3gwei'])
  const sent = [await send(), await send()]
  const [first = '', second = ''] = sent.map(({ id }) => id)
  await expect.poll(async () => (await json<Transaction>(['tx', 'show', second])).status).toBe('submitted')
  await chain.setBaseFee(20_000_000_000n)
  await chain.mine()
  await expect.poll(async () => (await run(['why', first])).out).toContain('(fee_too_low)')

  // The ceiling of the caller counts, not only the price of the tier.
  const low = await run(['tx', 'speed-up', first, '--max-fee', '9gwei', '--dry-run'])
  expect(low).toMatchObject({ code: 3, err: expect.stringContaining('Of 1, 1 would have no new version that a block') })
  expect(low.out).toMatch(
    new RegExp(`^${first}: no block would include it now: it would be signed at 9 gwei, the base fee \\S+ gwei\n$`),
  )
  expect(await json(['tx', 'cancel', first, '--dry-run'])).toMatchObject({
    ...{ transaction_id: first, operation: 'cancelTransaction', is_mineable: true, reason: null },
    base_fee: expect.stringMatching(/^[12]\d{10}$/),
  })
  const both = await run(['tx', 'cancel', first, second, '--max-fee', '9gwei', '--dry-run', '--json'])
  const plans = both.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(
    plans.map(({ transaction_id, max_fee_per_gas, is_mineable }) => [transaction_id, max_fee_per_gas, is_mineable]),
  ).toEqual([
    [first, '9000000000', false],
    [second, '9000000000', false],
  ])
  expect(both.err).toMatch(
    /^demo: signed now, the fees of 2 are at most 378000000000000 wei, 252000000000000 wei more than at present; the service may raise the prices later, to 9 gwei at most$/m,
  )
  expect((await json<TransactionAttempt[]>(['tx', 'attempts', first])).length).toBe(1)

  const unknown = '01890000-0000-7000-8000-000000000000'
  const plan = await run(['tx', 'cancel', unknown, first, '--dry-run'])
  expect(plan).toMatchObject({
    code: 4,
    out: expect.stringContaining(first),
    err: expect.stringMatching(/1 of 2 failed\n$/),
  })
  const done = await run(['tx', 'speed-up', first, unknown, second])
  expect(done).toMatchObject({ code: 4, out: `${first}\n${second}\n` })
  expect(done.err).toMatch(new RegExp(`^${unknown}: There is no transaction [^]*1 of 3 failed\n$`, 'm'))
  expect(done.err).toMatch(
    /^demo: signed now, the fees of 2 are .* at present; the service may raise the prices later$/m,
  )
  expect(
    done.err.match(/: a block can include it now: it would be signed at \S+ gwei, the base fee \S+ gwei$/gm)?.length,
  ).toBe(2)
  const prices = ['--max-fee', '90gwei', '--priority-fee', '9gwei']
  const replaced = await run(['tx', 'replace', first, '--to', to, '--value', '2', ...prices])
  expect(replaced).toMatchObject({ code: 0, err: expect.stringContaining(`${first}: a block can include it now: `) })

  expect((await run(['tx', 'cancel', first])).code).toBe(0)
  const rest = await run(['tx', 'cancel', first, second, '--dry-run'])
  expect(rest).toMatchObject({
    code: 3,
    out: expect.stringContaining(`${first}: it is submitted, and the service offers no`),
  })
  expect(rest.err).toMatch(
    /^demo: 1 without a known price: not in the fees\ndemo: signed now, the fees of 1 are at most \d+ wei/,
  )
})

test('asks for the changes of all transactions before it waits for one of them', async () => {
  const { chain, json, run } = await startOnChain({ noMining: true })
  const send = async () => (await json<Transaction>(['send', '--to', to, '--value', '1', '--max-fee', '3gwei'])).id
  const older = await send()
  const newer = await send()
  const attempts = async (id: string) => (await json<TransactionAttempt[]>(['tx', 'attempts', id])).length
  await expect.poll(() => attempts(newer)).toBe(1)
  const ending = run(['tx', 'speed-up', newer, older, '--max-fee', '90gwei', '--wait', 'mined', '--timeout', '60'])
  await expect.poll(() => attempts(older), { timeout: 20_000 }).toBe(2)
  await chain.mine()
  expect((await ending).code).toBe(0)
})

test('changes a transaction once that is named by its id and by a hash', async () => {
  const { json, run } = await startOnChain({ noMining: true })
  const { id } = await json<Transaction>(['send', '--to', to, '--value', '1', '--max-fee', '3gwei'])
  const shown = () => json<Transaction>(['tx', 'show', id])
  await expect.poll(async () => (await shown()).status).toBe('submitted')
  const { code, out, err } = await run(['tx', 'speed-up', id, (await shown()).hash ?? ''])
  expect([code, out]).toEqual([0, `${id}\n`])
  expect(err).toMatch(new RegExp(`^${id}: a block can include it now: [^\n]+\n$`))
})

test('speeds a transaction up with its access list', async () => {
  const { service, json } = await startOnChain({ noMining: true })
  const accessList = [{ address: to, storage_keys: [`0x${'01'.repeat(32)}`] }]
  const { data: sent } = await service.client.post('/api/v1/relayers/{relayer_id}/transactions', {
    path: { relayer_id: 'demo' },
    body: { to, value: '1', access_list: accessList, gas_limit: 60_000, max_fee_per_gas: 3_000_000_000n },
  })
  const prices = ['--max-fee', '9gwei', '--priority-fee', '3gwei']
  expect(await json(['tx', 'speed-up', sent.id, ...prices])).toMatchObject({ access_list: accessList, value: '1' })
})

test('creates and changes resources, and reads secrets only from a file or standard input', async () => {
  const { service, run, json } = await start()
  const signer = await json<Signer>(['signers', 'create', '--set', 'id=own', '--key-file', '-'], `${key}\n`)
  expect(signer).toMatchObject({ id: 'own', address: '0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f' })
  await json([
    'networks',
    'create',
    '--set',
    'name=test',
    '--set',
    'chain_id=5',
    '--set',
    'rpc_urls=["http://127.0.0.1:9"]',
  ])
  const relayer = await json<Relayer>(
    [
      'relayers',
      'create',
      '--file',
      '-',
      '--set',
      'signer_id=own',
      '--set',
      'policies.max_value=1000000000000000000000',
    ],
    JSON.stringify({ id: 'till', name: 'Till', network: 'test' }),
  )
  expect(relayer).toMatchObject({ id: 'till', paused: false, policies: { max_value: '1000000000000000000000' } })
  expect(await json(['policies', 'change', 'till', '--set', 'max_value=null', '--set', 'max_value_per_day=5'])).toEqual(
    {
      max_value_per_day: '5',
    },
  )
  expect(await json<Relayer>(['relayers', 'change', 'till', '--set', 'paused=true'])).toMatchObject({ paused: true })
  expect((await json<Relayer[]>(['relayers', 'list'])).map(({ id }) => id)).toEqual(['demo', 'till'])
  expect((await run(['relayers', 'list'])).out).toMatch(/^ID +NETWORK +ADDRESS .*\ndemo .*\ntill +test .*\n$/)

  const secretFile = join(temporaryFolder(), 'signing-key')
  writeFileSync(secretFile, 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD\n')
  const hook = ['notifications', 'create', '--set', 'id=hook', '--set', 'url=http://127.0.0.1:9/']
  expect(await json([...hook, '--signing-key-file', secretFile])).toMatchObject({ id: 'hook', has_signing_key: true })
  const made = await json<ApiKeyWithToken>(['keys', 'create', '--set', 'name=till', '--set', 'scopes=["sign"]'])
  expect((await json<ApiKey>(['keys', 'show', made.api_key.id])).scopes).toEqual(['sign'])
  const rotated = await json<ApiKeyWithToken>([
    'keys',
    'rotate',
    made.api_key.id,
    '--set',
    'previous_token_valid_seconds=0',
  ])
  const status = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${service.url}/api/v1/relayers/till`, { headers })).status
  }
  expect([await status(made.token), await status(rotated.token)]).toEqual([401, 403])
  await service.client.pools.create({ id: 'both', name: 'Both', network: 'test', relayer_ids: ['till'] })
  const rights = { one: { relayer_ids: ['till'] }, no: { relayer_ids: [] }, pool: { pool_ids: ['both'] } }
  for (const [name, right] of Object.entries(rights))
    await service.client.apiKeys.create({ name, scopes: ['send'], ...right })
  const keys = (await run(['keys', 'list'])).out
  for (const shown of ['till .*sign.* all relayers', 'one .*send.* till', 'no .* none', 'pool .* pool both'])
    expect(keys).toMatch(new RegExp(` ${shown} +- +`))
  expect(await json(['keys', 'self'])).toMatchObject({ id: 'environment' })
  const rules = [
    'id=game',
    'relayer_id=till',
    'max_gas_per_call=21000',
    'max_fee_per_call=1gwei',
    'max_fee_per_day=2gwei',
  ]
  await json(['sponsorships', 'create', ...rules.flatMap((rule) => ['--set', rule])])
  expect((await run(['sponsorships', 'list'])).out).toMatch(/\ngame +test +till +- +2000000000 +2000000000 +false\n$/)
  expect((await run(['facilitators', 'list'])).out).toMatch(/^ID +NETWORK +POOL_ID .*\n$/)
  expect((await run(['audit', '--operation', 'createSponsorship'])).out).toMatch(
    /^CREATED_AT .*\n\S+Z +environment +createSponsorship +- +game +201 +-\n$/,
  )
  expect(await run(['audit', '--limit', 'all'])).toMatchObject({
    code: 2,
    err: '--limit must be a number; it is all\n',
  })
  expect((await run(['keys', 'delete', made.api_key.id])).out).toBe(`deleted ${made.api_key.id}\n`)

  const secrets = ['signing_key', 'config.keystore.crypto', ...[...secretMembers].map((name) => `config.${name}`)]
  expect(secrets).toContain('config.secret_id')
  for (const assignment of [`config.key=${key}`, ...secrets.map((name) => `${name}=secret`)]) {
    const { code, err } = await run(['signers', 'create', '--set', assignment])
    expect([code, err]).toEqual([2, expect.stringMatching(/is a secret: .* file or on standard input/)])
  }
})

test('deletes a signer whose key would be lost only with --yes, and names its address and its balances before', async () => {
  const { chain, service, relayer, run } = await startOnChain()
  const signer = await service.client.signers.create({ id: 'spare', type: 'generated' })
  await chain.setBalance(signer.address, 1_500n)
  const refused = await run(['signers', 'delete', 'spare'])
  expect([refused.code, refused.out, refused.err.split('\n')]).toEqual([
    2,
    '',
    [
      expect.stringMatching(
        new RegExp(
          `^Deleting signer spare destroys its private key\\. .* what ${signer.address} owns is lost for good:$`,
        ),
      ),
      expect.stringMatching(/^ {2}local: (?:1500 wei|0\.0000000000000015 ETH)$/),
      '  Tokens are not looked up.',
      'Nothing was done. To delete it: relayer signers delete spare --yes',
      '',
    ],
  ])
  expect((await service.client.signers.get('spare')).address).toBe(signer.address)
  expect(await run(['signers', 'delete', 'spare', '--yes'])).toMatchObject({ code: 0, out: 'deleted spare\n' })
  expect((await run(['signers', 'delete', 'spare'])).code).toBe(4)
  // What loses nothing is deleted at once.
  expect(await run(['relayers', 'delete', relayer.id])).toMatchObject({ code: 0, out: `deleted ${relayer.id}\n` })
})

test('prints what may delay a transaction that was accepted', async () => {
  const { json, run } = await startOnChain()
  const low = ['send', '--to', to, '--max-fee', '1']
  const { code, out, err } = await run(low)
  expect([code, out, err]).toEqual([
    0,
    expect.stringMatching(/^\S+\n$/),
    expect.stringMatching(
      /^warning price_below_base_fee: The price 0\.000000001 gwei is below .*\n1 without a unit is in wei; for gwei, write 1gwei\nEvery later transaction of demo waits .*\n$/,
    ),
  ])
  // The program that reads JSON finds them there.
  expect(await json<Transaction>(low)).toMatchObject({
    warnings: expect.arrayContaining([expect.objectContaining({ code: 'price_below_base_fee' })]),
  })
})

test('ends quietly when the reader of its output does', async () => {
  const { service } = await start()
  const command = startRelayerCommand(service, ['relayers', 'list'])
  command.closeOut()
  expect(await command.ended).toEqual({ code: 0, out: '', err: '' })
})

test('returns an exit code for each kind of failure', async () => {
  const { service, run } = await start()
  const { data: made } = await service.client.post('/api/v1/api-keys', { body: { name: 'reader', scopes: ['read'] } })
  const reader = relayerCommand({ url: service.url, api_key: made.token })
  const wrong = relayerCommand({ url: service.url, api_key: 't'.repeat(40) })
  const nowhere = relayerCommand({ url: 'http://127.0.0.1:9', api_key: 't'.repeat(40) })
  const tls = relayerCommand({ url: service.url.replace('http', 'https'), api_key: 't'.repeat(40) })
  const server = createServer((_, response) => void response.writeHead(404).end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const other = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const keyless = relayerCommand({ url: service.url, api_key: '' })
  const cases = [
    [0, run(['--help']), ''],
    [2, run(['relayers', 'list', '--wrong']), /unknown option '--wrong'/],
    [2, run(['send', '--value', '1']), /--to, or --create/],
    [
      2,
      run(['send', '--to', to, '--submission', 'secret']),
      /--submission must be public, private, private_then_public:BLOCKS/,
    ],
    [
      3,
      run(['send', '--to', to, '--submission', 'private_then_public:9']),
      /body\/submission\/mode: must be public: the network/,
    ],
    [2, run(['send', '--to', to, '--wait', '--timeout', 'soon']), /--timeout must be a number of seconds; it is soon/],
    [2, run(['send', '--to', to, '--value', '1.5']), /1000, 2\.5gwei or 0\.1ether/],
    [2, run(['send', '--to', to, '--call', 'transfer(address)']), /takes 1 arguments, and 0 are given/],
    [2, keyless.run(['relayers', 'list']), /RELAYER_API_KEY is not set: .* export RELAYER_API_KEY=/],
    [3, run(['send', '--to', '0x12']), /400 invalid_request: body\/to: must be an address/],
    // A script whose variable is not set would send twice, or sweep something else.
    [2, run(['sweep', to, 'demo', '--keep-amount', '']), /1000, 2\.5gwei or 0\.1ether/],
    [3, run(['sweep', to, 'demo', '--asset', '']), /400 invalid_request: body\/asset: /],
    [
      3,
      run(['send', '--to', to, '--idempotency-key', '']),
      /400 invalid_request: headers\/idempotency-key: must be 1 to 255/,
    ],
    [4, run(['relayers', 'show', 'nobody']), /404 not_found: Relayer with ID nobody not found\n {2}request \S+/],
    [4, run(['transactions', 'show', 'nothing']), /There is no transaction nothing/],
    [2, run(['relayers', 'change', 'demo', '--set', 'max_value=1ether']), /did you mean policies\.max_value\?/],
    [
      4,
      relayerCommand({ url: other, api_key: service.api_key }).run(['relayers', 'list']),
      /^The server at http:\S+ answers 404 Not Found, not as a relayer service does: is this the URL of one\?/,
    ],
    [5, wrong.run(['relayers', 'list']), /401 unauthorized/],
    [5, reader.run(['sign', 'Hello']), /403 forbidden/],
    [2, run(['tx', 'show', '0x12']), /named by its id, or by a hash of 0x and 64 hexadecimal digits; it is 0x12/],
    [2, run(['send', '--to', to, '--pool', 'p', '-r', 'demo']), /Give one of the relayer demo and --pool p/],
    [2, run(['funding', 'demo', '--pool', 'p']), /Give one of the relayer demo and --pool p/],
    [6, nowhere.run(['relayers', 'list']), /The service at http:\/\/127\.0\.0\.1:9 is not reached: \S+/],
    [
      6,
      tls.run(['relayers', 'list']),
      /https:\S+ is not reached: http is spoken there, so the URL must begin with http and not https/,
    ],
    [6, run(['send', '--to', to]), /503 unavailable: network: /],
  ] as const
  for (const [code, end, told] of cases) {
    const { code: actual, err, out } = await end
    expect.soft(err).toMatch(told)
    expect.soft(actual, err || out).toBe(code)
  }
  const { err } = await run(['relayers', 'show', 'nobody', '--json'])
  expect(JSON.parse(err)).toMatchObject({ status: 404, code: 'not_found', requestId: expect.any(String) })
})
