import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { verifyWebhook } from '../../client/webhook.ts'
import { testChain } from '../support/chain.ts'
import { startReceiver } from '../support/receiver.ts'
import { relayerCommand, startRelayerCommand } from '../support/relayer-command.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

const demo = { path: { relayer_id: 'demo' } }
const signingKey = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'

interface Finding {
  part: string
  state: string
  message: string
  remedy: string | null
}

test('prints the events of a relayer with `listen`, and forwards them as signed webhooks', async () => {
  const service = await startTestService()
  const { client } = service
  const pause = (paused: boolean) => client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { paused } })
  const receiver = await startReceiver((_, response) => void response.writeHead(202).end())
  const file = join(temporaryFolder(), 'signing-key')
  writeFileSync(file, `${signingKey}\n`)
  await pause(true)
  const listen = startRelayerCommand(service, [
    ...['listen', '--json', '--since', '0'],
    ...['--forward-to', receiver.url, '--signing-key-file', file],
  ])
  await expect.poll(() => receiver.got.length).toBe(1)
  await pause(false)
  await expect.poll(() => listen.err().match(/-> \S+ 202\n/g)).toHaveLength(2)
  const printed = listen
    .out()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(printed.map(({ sequence, event }) => [sequence, event])).toEqual([
    [1, 'relayer_disabled'],
    [2, 'relayer_enabled'],
  ])
  for (const [index, { headers, body }] of receiver.got.entries())
    expect(await verifyWebhook(signingKey, headers, body)).toEqual(printed[index])
  await expect(verifyWebhook('another key', receiver.got[0]?.headers ?? {}, '')).rejects.toThrow('does not match')
  expect(listen.out() + listen.err()).not.toContain(signingKey)
})

test('lists deliveries, and redelivers them', async () => {
  const service = await startTestService({ WEBHOOK_TIME_SCALE: '0.000001' })
  const { client } = service
  let status = 500
  const receiver = await startReceiver((_, response) => void response.writeHead(status).end())
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: receiver.url, signing_key: signingKey } })
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_id: 'hook', paused: true } })
  const { json, run } = relayerCommand(service)
  const failed = () => json<{ id: string }[]>(['deliveries', 'list', 'hook', '--status', 'failed'])
  await expect.poll(async () => (await failed()).length).toBe(1)
  expect((await run(['deliveries', 'list', 'hook'])).out).toMatch(/relayer_disabled +1 +demo +- +failed .* 500\n$/)

  status = 204
  // A slow machine takes so long for the attempts that the endpoint is disabled.
  await json(['notifications', 'change', 'hook', '--set', `url=${receiver.url}`])
  const [delivery] = await failed()
  await json(['deliveries', 'redeliver', 'hook', delivery?.id ?? ''])
  const delivered = () => json<unknown[]>(['deliveries', 'list', 'hook', '--status', 'delivered'])
  await expect.poll(async () => (await delivered()).length).toBe(1)
  expect(await json(['deliveries', 'redeliver', 'hook', '--since', '2026-01-01T00:00:00Z'])).toEqual({
    redelivered_count: 0,
  })
  expect(await json(['deliveries', 'redeliver', 'hook', '--pending'])).toEqual({ redelivered_count: 0 })
})

test('ends with a failure when a test delivery fails', async () => {
  const { client, ...service } = await startTestService()
  let status = 204
  const receiver = await startReceiver((_, response) => void response.writeHead(status).end())
  await client.notifications.create({ id: 'hook', url: receiver.url, signing_key: signingKey })
  const { run } = relayerCommand(service)
  expect(await run(['deliveries', 'test', 'hook'])).toMatchObject({ code: 0, out: expect.stringContaining('204') })
  status = 404
  expect(await run(['deliveries', 'test', 'hook'])).toMatchObject({ code: 7, out: expect.stringContaining('404') })
  await client.notifications.update('hook', { url: 'http://127.0.0.1:9/' }, { revision: '*' })
  expect(await run(['deliveries', 'test', 'hook', '--json'])).toMatchObject({
    ...{ code: 7, out: expect.stringContaining('ECONNREFUSED') },
  })
})

test('reports each problem and its remedy with `doctor`, and none for a healthy service', async () => {
  const chain = await testChain()
  const service = await startTestService()
  const { client } = service
  const { json, run } = relayerCommand(service)
  const problems = async () => {
    const { code, out } = await run(['doctor', '--json'])
    const findings = JSON.parse(out) as Finding[]
    expect(code).toBe(findings.some(({ state }) => state === 'problem') ? 9 : 0)
    return findings
      .filter(({ state }) => state !== 'ok')
      .map(({ part, state, message }) => `${part} ${state} ${message}`)
  }
  expect(await problems()).toEqual([
    expect.stringMatching(/^network local problem .*No node/),
    expect.stringMatching(/^relayer demo warning nonces: /),
    'relayer demo warning the balance is unknown: no node answers',
  ])

  const nodes = (rpcUrls: string[]) =>
    client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body: { rpc_urls: rpcUrls } })
  await nodes([chain.url])
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: 'http://127.0.0.1:9/' } })
  await client.patch('/api/v1/relayers/{relayer_id}', {
    ...demo,
    body: { paused: true, policies: { min_balance: 1n } },
  })
  expect(await problems()).toEqual([
    'relayer demo warning paused',
    'relayer demo problem the balance of 0 ETH is below its min_balance of 0.000000000000000001 ETH',
    'notification hook warning deliveries are not signed',
  ])
  const { out } = await run(['doctor'])
  expect(out).toContain(
    'warning relayer demo: paused\n        To continue: relayer relayers change demo --set paused=false',
  )

  await json(['relayers', 'change', 'demo', '--set', 'paused=false'])
  await json(['notifications', 'change', 'hook', '--signing-key-file', '-'], signingKey)
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', demo)
  await chain.setBalance(relayer.address, 10n ** 18n)
  expect(await problems()).toEqual([])

  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const { id: treasury } = await createRelayer(client, { signer_id: signer.id })
  const amounts = {
    min_balance: `${2n * 10n ** 18n}`,
    target_balance: `${3n * 10n ** 18n}`,
    max_amount_per_day: `${10n ** 19n}`,
  }
  await client.put('/api/v1/relayers/{relayer_id}/funding', {
    ...demo,
    body: { treasury_id: treasury, ...amounts, max_fee_per_gas: `${10n ** 11n}` },
  })
  await expect.poll(problems).toContain('funding warning demo is not being refilled (treasury short)')

  const stopped = await relayerCommand({ url: 'http://127.0.0.1:9', api_key: 'x' }).run(['doctor', '--json'])
  expect([stopped.code, JSON.parse(stopped.out)]).toEqual([9, [expect.objectContaining({ part: 'service' })]])
})
