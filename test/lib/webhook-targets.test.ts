import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { lookupPublic, type Resolve } from '../../server/lib/ssrf-guard.ts'
import { hostileUrls, privateIpv4, privateIpv6 } from '../support/hostile-urls.ts'
import { startTestService } from '../support/service.ts'

// No delivery reaches this machine or its network where private targets are not allowed: through the API, with a canary
// that listens on both loopback addresses.

const hook = { path: { notification_id: 'hook' } }
const publicAddress = '93.184.215.14'
const tries = 1_000
const atOnce = 10

/** Counts connections, whatever is sent over them. */
async function startCanary() {
  const canary = { port: 0, connections: 0, requests: 0 }
  const listen = async (host: string): Promise<Server> => {
    const server = createServer((_, response) => {
      canary.requests += 1
      response.end()
    })
    server.on('connection', () => {
      canary.connections += 1
    })
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    server.listen(canary.port, host)
    await once(server, 'listening')
    canary.port = (server.address() as AddressInfo).port
    return server
  }
  await listen('127.0.0.1')
  await listen('::1')
  // No connection is left open: a later canary may get the same port.
  await (await fetch(`http://[::1]:${canary.port}/`, { headers: { Connection: 'close' } })).text()
  expect(canary).toMatchObject({ connections: 1, requests: 1 })
  Object.assign(canary, { connections: 0, requests: 0 })
  return canary
}

/** A service with production settings, whose names are resolved by `resolve`. `sendTo` returns the result of a test delivery. */
async function startGuarded(lookup: LookupFunction) {
  const { client } = await startTestService({ ALLOW_PRIVATE_TARGETS: 'false' }, { lookup })
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: 'https://hooks.example.com/' } })
  const send = async () => (await client.post('/api/v1/notifications/{notification_id}/test', hook)).data
  const update = (url: string) => client.patch('/api/v1/notifications/{notification_id}', { ...hook, body: { url } })
  return { client, send, update }
}

/**
 * The service's own choice among what a name means. Where it would call a public address the test stops it: nobody outside is
 * ever called.
 */
function resolving(addressesOf: (host: string) => string[]) {
  const counts = { lookups: 0, passed: 0 }
  const resolve: Resolve = (host, _options, answer) => {
    counts.lookups += 1
    answer(
      null,
      addressesOf(host).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  const lookup: LookupFunction = (host, options, answer) => {
    const choose: typeof answer = (error) => {
      if (!error) counts.passed += 1
      answer(error ?? new Error('public: no test calls it'), [])
    }
    lookupPublic(host, options, choose, resolve)
  }
  return { counts, lookup }
}

/** The URL with the canary's port, if it is one that may have a port. */
function aimed(url: string, port: number): string {
  const [, start, rest = ''] =
    /^([a-z+]*:?\/\/(?:[^/?#@]*@)?(?:\[[^\]]*\]|[^/?#:[\]]+))(?::\d{1,4})?((?:[/?#].*)?)$/is.exec(url) ?? []
  return start === undefined ? url : `${start}:${port}${rest}`
}

/**
 * The guarded service with notifications whose URLs were stored while private targets were allowed. `refused`: how many URLs are none even
 * then.
 */
async function startWithStored(urls: string[], lookup: LookupFunction) {
  const first = await startTestService()
  const stored: { url: string; notification_id: string }[] = []
  for (const url of urls) {
    const made = first.client.notifications.create({ url })
    await made.then(
      ({ id }) => stored.push({ url, notification_id: id }),
      (error) => expect(error, url).toMatchObject({ status: 400 }),
    )
  }
  await first.close()
  const { client } = await startTestService({ DATA_DIR: first.data_dir, ALLOW_PRIVATE_TARGETS: 'false' }, { lookup })
  const send = async (id: string) =>
    (await client.post('/api/v1/notifications/{notification_id}/test', { path: { notification_id: id } })).data
  const refusalOf = (id: string, url: string) =>
    client.notifications.update(id, { url }).then(
      () => undefined,
      (error) => error.details[0].message,
    )
  return { client, stored, refused: urls.length - stored.length, send, refusalOf }
}

const notPublic = /must have a public address/

test('stores no hostile URL that leads to this machine, and delivers to none that was stored', async () => {
  const canary = await startCanary()
  const { lookup, counts } = resolving(() => ['127.0.0.1'])
  const urls = [...hostileUrls, ...hostileUrls.map((one) => aimed(one, canary.port))]
  const { stored, refused, send, refusalOf } = await startWithStored(urls, lookup)
  for (const { url, notification_id: id } of stored) {
    expect.soft(await refusalOf(id, url), url).toMatch(notPublic)
    expect
      .soft(await send(id), url)
      .toMatchObject({ http_status: null, response_body: null, error_message: expect.stringMatching(/^The url must/) })
  }
  expect(stored.length).toBeGreaterThanOrEqual(120)
  expect(stored.length + refused).toBe(2 * hostileUrls.length)
  expect([canary.connections, canary.requests, counts.lookups]).toEqual([0, 0, 0])
})

test('calls no private address, in a URL or as the address of a name', async () => {
  const canary = await startCanary()
  // IPv6 with a zone is no host of a URL.
  const addresses = [...privateIpv4, ...privateIpv6].filter((address) => !address.includes('%'))
  const { lookup, counts } = resolving((host) => [addresses[Number(/\d+/.exec(host))] as string])
  const urls = addresses.map((address) => `http://${address.includes(':') ? `[${address}]` : address}:${canary.port}/`)
  const { client, stored, send, refusalOf } = await startWithStored(urls, lookup)
  for (const [index, { url, notification_id: id }] of stored.entries()) {
    expect.soft(await refusalOf(id, url), url).toMatch(notPublic)
    expect.soft((await send(id)).error_message, url).toMatch(notPublic)
    await client.notifications.update(id, { url: `http://name-${index}.example.com:${canary.port}/` })
    expect.soft((await send(id)).error_message, url).toMatch(/resolves to a private address/)
  }
  expect(stored.length).toBe(addresses.length)
  expect([canary.connections, counts.passed, counts.lookups]).toEqual([0, 0, addresses.length])
})

test('looks up a name once per delivery, and never calls this machine in 1,000 tries with changing addresses', async () => {
  const canary = await startCanary()
  const turns = [
    [publicAddress],
    ['127.0.0.1'],
    [publicAddress, '::1'],
    ['::ffff:127.0.0.1'],
    ['127.0.0.1', publicAddress],
  ]
  let turn = 0
  const { lookup, counts } = resolving(() => turns[turn++ % turns.length] as string[])
  const { send, update } = await startGuarded(lookup)
  await update(`http://rebinding.example.com:${canary.port}/`)
  const errors: (string | null)[] = []
  for (let count = 0; count < tries; count += atOnce) {
    errors.push(...(await Promise.all(Array.from({ length: atOnce }, async () => (await send()).error_message))))
  }
  const privates = errors.filter((error) => error === 'The host name resolves to a private address')
  const publics = errors.filter((error) => error === 'public: no test calls it')
  expect([privates.length, publics.length]).toEqual([(tries * 4) / 5, tries / 5])
  expect(counts).toEqual({ lookups: tries, passed: tries / 5 })
  expect([canary.connections, canary.requests]).toEqual([0, 0])
})

test('sends nothing over a connection to a forbidden address', async () => {
  const canary = await startCanary()
  for (const address of ['127.0.0.1', '::1']) {
    const family = address.includes(':') ? 6 : 4
    const { send, update } = await startGuarded((_host, options, answer) =>
      options.all ? answer(null, [{ address, family }]) : answer(null, address, family),
    )
    await update(`http://hooks.example.com:${canary.port}/`)
    expect(await send()).toMatchObject({ http_status: null, error_message: 'The url must have a public address' })
  }
  expect(canary).toMatchObject({ connections: 2, requests: 0 })
})
