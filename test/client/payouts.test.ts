import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readPayouts } from '../../client/cli/payout-file.ts'
import { testChain } from '../support/chain.ts'
import { testLiar } from '../support/liar.ts'
import { relayerCommand } from '../support/relayer-command.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const checksummed = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

async function start(options = {}) {
  const chain = await testChain(options)
  const service = await startTestService()
  const path = { network_id: 'evm:local' }
  await service.client.patch('/api/v1/networks/{network_id}', { path, body: { rpc_urls: [chain.url] } })
  const relayer = await service.client.relayers.get('demo')
  await chain.setBalance(relayer.address, 10n ** 20n)
  return { chain, service, ...relayerCommand(service) }
}

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

  const preview = await run(
    ['payouts', '-', '--run', 'may', '--dry-run'],
    `to,amount\n${lines[0]}\n${receiver(98)},2ether\n`,
  )
  expect([preview.code, preview.err]).toEqual([
    0,
    expect.stringContaining(
      '1 would be paid, 1 sent before, 0 would be refused. The sum of what would be paid: 2 ether. Nothing was paid.\n',
    ),
  ])
  expect(preview.out).toMatch(
    /^LINE .*\n2 +0x\S+ +1000000000000000 +sent before +-\n3 +0x\S+ +2000000000000000000 +would be paid +-\n$/,
  )
  const tooMuch = await run(
    ['payouts', '-', '--run', 'may', '--dry-run'],
    `to,amount\n${receiver(96)},60ether\n${receiver(97)},60ether\n`,
  )
  expect([tooMuch.code, tooMuch.err]).toEqual([
    3,
    expect.stringMatching(/\nAll together cost up to 120\.\S+ ether with gas, and the balance is 99\./),
  ])
  const refused = await run(['payouts', '-', '--run', 'may', '--dry-run'], `to,amount\n${receiver(96)},600ether\n`)
  expect([refused.code, refused.out]).toEqual([3, expect.stringMatching(/would be refused +costs up to 600/)])
  // Repeated, in another order and with one more line, it pays that line only.
  const more = `${receiver(99)},1wei`
  writeFileSync(file, `to,amount\n${[more, ...lines.toReversed()].join('\n')}\n`)
  const { code, err } = await run(['payouts', file, '--run', 'may'])
  expect([code, err]).toEqual([
    0,
    expect.stringMatching(/^Lines 3, 27 are equal, and each is paid\n(?:.*\n)*26 confirmed/),
  ])
  const { pagination } = await service.client.get('/api/v1/transactions')
  expect(pagination.total_items).toBe(26)
  expect(await chain.rpc('eth_getBalance', [receiver(0), 'latest'])).toBe(`0x${(2n * 10n ** 15n).toString(16)}`)
})

test('says what a line waits for when it begins to wait, and what to do about a price that no block takes', async () => {
  const { chain, run, json } = await start({ blockTime_s: 0.3 })
  await chain.rpc('anvil_setNextBlockBaseFeePerGas', ['0x3b9aca00'])
  await chain.mine()
  const sent = await run(['send', '--to', to, '--value', '1gwei', '--max-fee', '1'])
  const id = sent.out.trim()
  expect([sent.code, sent.err.split('\n')]).toEqual([
    0,
    [
      expect.stringMatching(/^warning price_below_base_fee: /),
      '1 without a unit is in wei; for gwei, write 1gwei',
      `Every later transaction of demo waits for this one. To send it sooner: relayer tx speed-up ${id}. To withdraw it: relayer tx cancel ${id}`,
      '',
    ],
  ])
  const paid = await run(['payouts', '-', '--run', 'may', '--timeout', '4'], `to,amount\n${to},5\n`)
  expect([paid.code, paid.err]).toEqual([
    8,
    expect.stringMatching(/\nLine 2: Waits: nonce 0 comes first .* See: relayer why \S+\n/),
  ])
  const canceled = await run(['tx', 'cancel', id, '--wait'])
  expect([canceled.code, canceled.out]).toEqual([0, expect.stringContaining(`${id}  canceled`)])
  const [{ status }] = await json<[{ status: string }]>(['payouts', '-', '--run', 'may'], `to,amount\n${to},5\n`)
  expect(status).toBe('confirmed')
})

test('refuses a payout whose reference was paid with another amount', async () => {
  const { run } = await start({ blockTime_s: 0.3 })
  const pay = (text: string) => run(['payouts', '-', '--run', 'june', '--json'], text)
  expect((await pay(`to,amount,reference\n${to},5,a\n`)).code).toBe(0)
  const again = await pay(`to,amount,reference\n${to},6,a\n`)
  expect([again.code, JSON.parse(again.out)]).toEqual([
    7,
    [
      expect.objectContaining({
        line: 2,
        status: 'refused',
        error: expect.stringMatching(/^this line was changed after the run had sent it: transaction \S+ of demo stays/),
      }),
    ],
  ])
})

test('reports all lines when the relayer that paid some of them was deleted, and pays none of those again', async () => {
  const { chain, service, run } = await start({ blockTime_s: 0.3 })
  const { client } = service
  const signer = await client.signers.create({ type: 'generated' })
  const body = { id: 'second', name: 'Second', network: 'local', network_type: 'evm', paused: false } as const
  const { address } = await client.relayers.create({ ...body, signer_id: signer.id })
  await chain.setBalance(address, 10n ** 20n)
  const pay = (relayerId: string, file: string) =>
    run(['payouts', '-', '--run', 'may', '--relayer', relayerId, '--json'], `to,amount\n${file}`)
  const first = await pay('second', `${to},5\n`)
  const [{ transaction_id: id }] = JSON.parse(first.out)
  await client.relayers.delete('second')
  const deleted = expect.objectContaining({
    ...{ line: 2, status: 'deleted', transaction_id: id },
    error: expect.stringContaining(`transaction ${id} is no longer known, because its relayer second was deleted`),
  })
  const paid = expect.objectContaining({ line: 3, status: 'confirmed' })
  const later = await pay('demo', `${to},5\n${to},7\n`)
  expect([later.code, later.err, JSON.parse(later.out)]).toEqual([
    7,
    '1 of 2 accepted\n1 deleted, 1 confirmed\n',
    [deleted, paid],
  ])
  // The service answers a repeated request of the new relayer as it did the first.
  await client.relayers.create({ ...body, signer_id: signer.id })
  const repeated = await pay('second', `${to},5\n`)
  expect([repeated.code, JSON.parse(repeated.out)]).toEqual([7, [deleted]])
  expect(await chain.rpc('eth_getBalance', [to, 'latest'])).toBe('0x21e19e0c9bab240000c')
})

test('pays a line once when the run is repeated with another API key and another relayer, at once and later', async () => {
  const { chain, service, run, json } = await start({ blockTime_s: 0.3 })
  const { data: signer } = await service.client.post('/api/v1/signers', { body: { type: 'generated' } })
  const body = { id: 'second', name: 'Second', network: 'local', network_type: 'evm', paused: false } as const
  const { address } = await service.client.relayers.create({ ...body, signer_id: signer.id })
  await chain.setBalance(address, 10n ** 20n)
  const keyOf = async (name: string, relayerIds?: string[]) => {
    const scopes = ['send' as const, 'read' as const]
    const { data } = await service.client.post('/api/v1/api-keys', {
      body: { name, scopes, ...(relayerIds && { relayer_ids: relayerIds }) },
    })
    return relayerCommand({ url: service.url, api_key: data.token })
  }
  const [one, other, limited] = [await keyOf('one'), await keyOf('other'), await keyOf('limited', ['second'])]
  const file = `to,amount,reference\n${to},5,a\n${to},6,b\n${to},7,\n${to},7,\n`
  const args = ['payouts', '-', '--run', 'may', '--json']
  const runs = await Promise.all([
    one.run([...args, '--relayer', 'demo'], file),
    other.run([...args, '--relayer', 'second'], file),
    one.run([...args, '--relayer', 'second'], file),
  ])
  const later = await run([...args, '--relayer', 'second'], file)
  const reports = [...runs, later].map(({ code, out }) => {
    expect(code).toBe(0)
    return JSON.parse(out).map((line: { transaction_id: string }) => line.transaction_id)
  })
  expect(new Set(reports.flat()).size).toBe(4)
  expect((await service.client.get('/api/v1/transactions')).pagination.total_items).toBe(4)
  expect(await chain.rpc('eth_getBalance', [to, 'latest'])).toBe('0x21e19e0c9bab2400019')

  // A line with another amount is another payment of the run: it is refused, not paid.
  const changed = await run([...args, '--relayer', 'second'], `to,amount,reference\n${to},9,a\n`)
  expect([changed.code, JSON.parse(changed.out)[0].error]).toEqual([
    7,
    expect.stringMatching(/another payment|was changed after the run had sent it/),
  ])
  // A key that may not read the transaction does not learn its id.
  await json(['payouts', '-', '--run', 'june', '--relayer', 'demo'], `to,amount\n${to},1\n`)
  const unseen = await limited.run(['payouts', '-', '--run', 'june', '--relayer', 'second'], `to,amount\n${to},1\n`)
  expect(unseen).toMatchObject({ code: 7, out: expect.stringContaining('this one may not read its transaction') })
})

test('pays each line once through a pool, also with a key that has no right to its relayers', async () => {
  const { chain, service, run } = await start({ blockTime_s: 0.3 })
  const { client } = service
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const body = { id: 'second', name: 'Second', network: 'local', network_type: 'evm', paused: false } as const
  const { address } = await client.relayers.create({ ...body, signer_id: signer.id })
  await chain.setBalance(address, 10n ** 20n)
  await client.pools.create({ id: 'both', network: 'local', relayer_ids: ['demo', 'second'] })
  const { token } = await client.apiKeys.create({ name: 'pool', scopes: ['send', 'read'], pool_ids: ['both'] })
  const limited = relayerCommand({ url: service.url, api_key: token })
  const file = `to,amount\n${Array.from({ length: 8 }, (_, index) => `${to},${index + 1}`).join('\n')}\n`
  const args = ['payouts', '-', '--run', 'may', '--json']
  const reports = await Promise.all([
    limited.run([...args, '--pool', 'both'], file),
    limited.run([...args, '--pool', 'both'], file),
    run([...args, '--pool', 'both'], file),
  ])
  reports.push(await run([...args, '--relayer', 'demo'], file))
  expect(reports.map(({ code, err }) => [code, err.split('\n').at(-2)])).toEqual(Array(4).fill([0, '8 confirmed']))
  const idsOf = ({ out }: { out: string }) =>
    JSON.parse(out).map((line: { transaction_id: string }) => line.transaction_id)
  expect(new Set(reports.flatMap(idsOf)).size).toBe(8)
  expect(await chain.rpc('eth_getBalance', [to, 'latest'])).toBe('0x21e19e0c9bab2400024')
  const both = await run([...args, '--pool', 'both', '--relayer', 'demo'], file)
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('Give one of the relayer demo and --pool both')])
})

test('stops when the service does not answer, says how to go on, and pays no line twice', async () => {
  const { service, json } = await start({ blockTime_s: 0.3 })
  let answers = 0
  // The service accepts the third line and those that were under way, but the caller reads no answer.
  const proxy = createServer((incoming, outgoing) => {
    const { hostname, port } = new URL(service.url)
    const { method, url: path, headers } = incoming
    incoming.pipe(
      request({ hostname, port, method, path, headers }, (answer) => {
        if (method === 'POST') answers += 1
        if (method === 'POST' && answers > 2) return void outgoing.destroy()
        outgoing.writeHead(answer.statusCode as number, answer.headers)
        answer.pipe(outgoing)
      }),
    )
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => void proxy.close())
  const lost = relayerCommand({
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    api_key: service.api_key,
  })
  const file = `to,amount\n${Array.from({ length: 30 }, (_, index) => `${to},${index + 1}`).join('\n')}\n`
  const first = await lost.run(['payouts', '-', '--run', 'may', '--json'], file)
  const states = JSON.parse(first.out).map(({ status }: { status: string }) => status)
  expect([first.code, first.err]).toEqual([
    6,
    expect.stringContaining('Run the same command again: no line is paid twice'),
  ])
  expect(states).toEqual(expect.arrayContaining(['unknown', 'not sent']))
  const second = await json<{ status: string }[]>(['payouts', '-', '--run', 'may'], file)
  expect(second.map(({ status }) => status)).toEqual(Array(30).fill('confirmed'))
  expect((await service.client.get('/api/v1/transactions')).pagination.total_items).toBe(30)
})

test('counts what is not mined after --timeout as unfinished, not as failed', async () => {
  const { run } = await start({ noMining: true })
  const { code, out, err } = await run(
    ['payouts', '-', '--run', 'may', '--timeout', '1', '--json'],
    `to,amount\n${to},1\n`,
  )
  expect([code, JSON.parse(out)[0].status]).toEqual([8, expect.stringMatching(/pending|sent|submitted/)])
  expect(err).toContain('Unfinished lines are still being sent')
  expect(err).not.toContain('failed')
})

test('does not call a line paid whose transaction was replaced by another one', async () => {
  const { chain, json, run } = await start({ noMining: true })
  const pay = (...parameters: string[]) =>
    run(['payouts', '-', '--run', 'may', '--json', ...parameters], `to,amount\n${to},5\n`)
  const [{ transaction_id: id }] = JSON.parse((await pay('--timeout', '1')).out)
  await json(['tx', 'replace', id, '--to', to, '--value', '1'])
  const again = pay('--timeout', '60')
  const mine = setInterval(() => void chain.mine(), 300)
  const { code, out } = await again
  clearInterval(mine)
  expect([code, JSON.parse(out)]).toEqual([
    7,
    [expect.objectContaining({ status: 'refused', error: expect.stringContaining(`transaction ${id} of demo`) })],
  ])
})

test('follows a line that is moved to another relayer of the pool: it is paid, not canceled', async () => {
  const { chain, service, run } = await start({ blockTime_s: 0.3 })
  const { client } = service
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const body = { id: 'second', name: 'Second', network: 'local', network_type: 'evm', paused: false } as const
  const { address } = await client.relayers.create({ ...body, signer_id: signer.id })
  await chain.setBalance(address, 10n ** 20n)
  const weights = { demo: 100, second: 0 }
  await client.pools.create({ id: 'both', network: 'local', relayer_ids: ['demo', 'second'], weights })
  // The node of one relayer takes nothing, so nothing after its first transaction is signed.
  const node = await testLiar(chain)
  node.lie = (method) => (method === 'eth_sendRawTransaction' ? new Error('txpool is full') : undefined)
  await client.relayers.update('demo', { custom_rpc_urls: [node.url] })
  const first = await client.pools.sendTransaction('both', { to, value: '1' })
  await expect.poll(async () => (await client.transactions.get(first.id)).wait_reason).toBeTruthy()
  const pay = () => run(['payouts', '-', '--run', 'may', '--pool', 'both', '--json'], `to,amount\n${to},5\n`)
  const paying = pay()
  const line = async () => (await client.get('/api/v1/transactions')).data.find(({ value }) => value === '5')
  await expect.poll(line).toBeTruthy()
  await client.pools.update('both', { weights: { second: 100 } })
  const { id: transactionId } = await client.pools.moveTransaction('both', (await line())?.id ?? '')
  const report = [0, [expect.objectContaining({ status: 'confirmed', transaction_id: transactionId })]]
  for (const { code, out } of [await paying, await pay()]) expect([code, JSON.parse(out)]).toEqual(report)
})

test('pays nothing of a file with a fault, and names all faults with their lines', async () => {
  const { service, run } = await start()
  const wrong = checksummed.replace('C5', 'c5')
  const file = `to;amount;reference\n${wrong};1;a\n${to};1,500;b\n${to};0;c\nvitalik.eth;1;d\n${to};2;a\n${to};3;e;;f\n${to};1,500 ether;g\n`
  const { code, err } = await run(['payouts', '-', '--run', 'july'], file)
  expect([code, err.split('\n')]).toEqual([
    2,
    [
      expect.stringMatching(/^Line 2: 0x\w+ has a wrong checksum/),
      'Line 3: the amount 1,500 can be read in two ways: write 1500 or 1.5000',
      'Line 4: the amount is zero',
      'Line 5: vitalik.eth is not an address',
      expect.stringMatching(/^Line 7: has more values than the 3 columns/),
      'Line 8: the amount 1,500 ether can be read in two ways: write 1500 ether or 1.5000 ether',
      'Nothing was paid.',
      '',
    ],
  ])
  expect((await service.client.get('/api/v1/transactions')).pagination.total_items).toBe(0)
})

const bytes = (text: string) => new TextEncoder().encode(text)
const utf16 = (text: string, { mark = true, isBig = false } = {}) => {
  const little = Buffer.from(`${mark ? '\ufeff' : ''}${text}`, 'utf16le')
  return isBig ? little.swap16() : little
}

test.each<[string, Uint8Array, Parameters<typeof readPayouts>[1], bigint[]]>([
  ['commas', bytes(`to,amount\n${to},1\n`), {}, [1n]],
  ['semicolons', bytes(`to;amount\n${to};0,001ether\n`), {}, [10n ** 15n]],
  ['tabs', bytes(`To\tAmount\r\n${to}\t5\r\n`), {}, [5n]],
  ['a column that is not ours', bytes(`name,to,amount\n"Müller, Inc",${to},7\n`), {}, [7n]],
  ['UTF-8 with a mark', bytes(`\ufeffto,amount\n${to},1\n`), {}, [1n]],
  ['UTF-16 with a mark', utf16(`to,amount\n${to},1\n`), {}, [1n]],
  ['UTF-16, big end first', utf16(`to,amount\n${to},1\n`, { isBig: true }), {}, [1n]],
  ['UTF-16 without a mark', utf16(`to,amount\n${to},1\n`, { mark: false }), {}, [1n]],
  ['empty lines', bytes(`to;amount;reference\n\n${to};1;\n;;\n`), {}, [1n]],
  [
    'a unit for all',
    bytes(`to,amount\n${to},0.5\n${to},2gwei\n`),
    { unit: 'ether' },
    [5n * 10n ** 17n, 2n * 10n ** 9n],
  ],
  ['a decimal comma', bytes(`to;amount\n${to};1,5\n${to};0,125\n`), { decimals: 6 }, [1_500_000n, 125_000n]],
  ['a decimal comma in quotes', bytes(`to,amount\n${to},"1,5"\n`), { decimals: 6 }, [1_500_000n]],
  ['three decimals after a point', bytes(`to,amount\n${to},1.500\n`), { decimals: 6 }, [1_500_000n]],
  ['a checksum', bytes(`to,amount\n${checksummed},1\n`), {}, [1n]],
])('reads %s', (_, file, format, amounts) => {
  const payouts = readPayouts(file, format)
  expect(payouts.map(({ amount }) => amount)).toEqual(amounts)
  expect(new Set(payouts.map((payout) => payout.to))).toEqual(new Set([to]))
})

test.each<[string, Uint8Array, RegExp]>([
  ['two columns of one name', bytes(`to,amount,Amount\n${to},1,2\n`), /two columns have the name amount/],
  ['no column to', bytes(`address,amount\n${to},1\n`), /^Line 1 must name the columns to, amount/],
  ['no lines', bytes('to,amount\n'), /^The file has no payouts/],
  ['an open quote', bytes(`to,amount\n"${to},1\n`), /^The file is not CSV/],
  ['another encoding', Buffer.from(`to,amount,reference\n${to},1,M\xfcller\n`, 'latin1'), /UTF-8 or UTF-16/],
  ['groups of thousands', bytes(`to;amount\n${to};1.500\n`), /can be read in two ways/],
  ['both separators', bytes(`to;amount\n${to};1.500,25\n`), /An amount must be/],
  [
    'a point beside a comma',
    bytes(`to;amount\n${to};1,5ether\n${to};1.5ether\n`),
    /Line 3: .*decimal point, and that of line 2/,
  ],
  ['the zero address', bytes(`to,amount\n0x${'0'.repeat(40)},1\n`), /has no owner/],
  [
    'a reference twice',
    bytes(`to,amount,reference\n${to},1,x\n${to},2,x\n`),
    /Line 3: an earlier line has the reference x/,
  ],
  ['a missing amount', bytes(`to,amount\n${to}\n`), /Line 2: needs a value for amount/],
  ['a negative amount', bytes(`to,amount\n${to},-1\n`), /An amount must be/],
])('refuses %s', (_, file, message) => {
  expect(() => readPayouts(file, {})).toThrow(message)
})
