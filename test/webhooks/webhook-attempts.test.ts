import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { HttpAgents } from '../../server/lib/http-client.ts'
import { isPrivateAddress, lookupPublic, type Resolve, targetFault } from '../../server/lib/ssrf-guard.ts'
import { type AttemptContext, sendAttempt } from '../../server/webhooks/attempt.ts'

async function listen(listener: RequestListener) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Sends `{}` to a URL. */
const sender = (context: Partial<AttemptContext>) => (url: string) =>
  sendAttempt(
    {
      ...{ agents: new HttpAgents(), lookup: undefined, publicOnly: false, now: Date.now },
      checkTarget: (its) => targetFault(its, context.publicOnly !== true),
      ...context,
    },
    { url, headers: {}, body: '{}' },
  )
const anywhere = sender({})
const publicOnly = (resolve?: Resolve) =>
  sender({ lookup: (host, options, answer) => lookupPublic(host, options, answer, resolve), publicOnly: true })

/** What one attempt may cost at most, whatever the answer is. */
const maxMemoryBytes = 20 * 1024 * 1024

/** What came of the attempt, and by how much the process has grown for it; it had seen an attempt before. */
async function weigh(port: number, send = anywhere) {
  const usual = await listen((_, response) => response.end())
  await anywhere(`http://127.0.0.1:${usual}/`)
  const before = process.memoryUsage().rss
  const result = await send(`http://127.0.0.1:${port}/`)
  return { result, grown_bytes: process.memoryUsage().rss - before }
}

test('cuts a response of a gigabyte after 16 KiB, and shows its beginning', async () => {
  let written = 0
  const cut = Promise.withResolvers<void>()
  const port = await listen((_, response) => {
    const chunk = Buffer.alloc(65_536, 'x')
    const more = () => {
      while (!response.destroyed && response.write(chunk)) written += chunk.length
    }
    response.writeHead(200, { 'Content-Length': 2 ** 30 })
    response.on('drain', more).once('close', cut.resolve)
    more()
  })
  const { result, grown_bytes } = await weigh(port)
  expect(result).toMatchObject({ status: 200, error: null, answer: 'x'.repeat(1_000) })
  expect(grown_bytes).toBeLessThan(maxMemoryBytes)
  await cut.promise
  // What the kernel holds between the two, and not a gigabyte.
  expect(written).toBeLessThan(64 * 1024 * 1024)
})

test('does not inflate a compressed response', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
  const cut = Promise.withResolvers<void>()
  const port = await listen((_, response) => {
    response.once('close', cut.resolve)
    response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(bomb)
  })
  const { result, grown_bytes } = await weigh(port)
  expect(result).toMatchObject({ status: 200, answer: null })
  expect(grown_bytes).toBeLessThan(maxMemoryBytes)
  await cut.promise
})

test('ends a response that arrives byte by byte at the time limit', async () => {
  const attemptMs = 2_000
  const hurried = sender({ checkTarget: () => undefined, attempt_ms: attemptMs })
  const cut = Promise.withResolvers<void>()
  const port = await listen((_, response) => {
    const drip = setInterval(() => response.write('x'), 100)
    response.on('close', () => {
      clearInterval(drip)
      cut.resolve()
    })
  })
  const { result, grown_bytes } = await weigh(port, hurried)
  expect(result).toMatchObject({ status: null, error: 'No response within 2 s' })
  expect(grown_bytes).toBeLessThan(maxMemoryBytes)
  await cut.promise
})

test('treats a redirect as a failure, and does not follow it', async () => {
  let touched = 0
  const canary = await listen((_, response) => {
    touched += 1
    response.end()
  })
  const port = await listen((_, response) => response.writeHead(307, { Location: `http://127.0.0.1:${canary}/` }).end())
  expect(await anywhere(`http://127.0.0.1:${port}/`)).toMatchObject({
    status: 307,
    error: 'Redirects are not followed; the url must be the final one',
  })
  expect(touched).toBe(0)
})

test.each([
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '0x7f.1',
  'localhost',
  'LOCALHOST.',
  'a.localhost',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '0.0.0.0',
  '[::]',
  '①②⑦.0.0.1',
  'user@127.0.0.1',
  'example.com@127.0.0.1',
])('does not call %s in production', async (host) => {
  let touched = 0
  const canary = await listen((_, response) => {
    touched += 1
    response.end()
  })
  const result = await publicOnly()(`http://${host}:${canary}/`)
  expect(result).toMatchObject({ status: null, error: expect.stringMatching(/public|password/) })
  expect(touched).toBe(0)
})

test('does not call a name with a private address, also beside public ones, in a thousand tries', async () => {
  let touched = 0
  const canary = await listen((_, response) => {
    touched += 1
    response.end()
  })
  const privates = ['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.1', '169.254.169.254', 'fe80::1', 'fc00::1']
  let tries = 0
  const send = publicOnly((_host, _options, answer) => {
    tries += 1
    const address = privates[tries % privates.length] as string
    const addresses = tries % 2 ? [address] : ['93.184.215.14', address]
    answer(
      null,
      addresses.map((one) => ({ address: one, family: one.includes(':') ? 6 : 4 })),
    )
  })
  for (let count = 0; count < 1_000; count += 1) {
    expect((await send(`http://rebinding.example.com:${canary}/`)).error).toMatch(/private/)
  }
  expect(tries).toBe(1_000)
  expect(touched).toBe(0)
})

test('checks every address of a lookup', () => {
  const resolve: Resolve = (_host, _options, answer) => {
    const address = `${Math.floor(Math.random() * 256)}.${Math.floor(Math.random() * 256)}.1.1`
    answer(null, [{ address, family: 4 }])
  }
  const check = (error: Error | null, address: unknown) => {
    if (!error) expect(isPrivateAddress(address as string)).toBe(false)
  }
  for (let count = 0; count < 1_000; count += 1) lookupPublic('example.com', {}, check, resolve)
})
