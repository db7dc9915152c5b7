import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parseTraceparent } from '../../server/telemetry/traces.ts'
import { testChain } from '../support/chain.ts'
import { listen } from '../support/listen.ts'
import { nodeEnvironment } from '../support/node-environment.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

interface SentSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: { key: string; value: Record<string, unknown> }[]
}

/** What collects spans, as OTLP over HTTP in JSON. */
async function startCollector() {
  const spans: SentSpan[] = []
  const services = new Set<unknown>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString('utf8'))
      for (const { resource, scopeSpans } of resourceSpans) {
        services.add(resource.attributes.find(({ key }: { key: string }) => key === 'service.name')?.value.stringValue)
        for (const scope of scopeSpans) spans.push(...scope.spans)
      }
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
    })
  })
  return { url: await listen(server), spans, services }
}

const attributesOf = ({ attributes }: SentSpan) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

test('makes spans of requests, calls to nodes and deliveries, with a request under its caller’s span', async () => {
  const collector = await startCollector()
  const chain = await testChain()
  const receiver = await startReceiver()
  const service = await startTestService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: 'mine' })
  const { client, api_key } = service
  const network = { path: { network_id: 'evm:local' }, body: { rpc_urls: [`${chain.url}/?planted`] } }
  await client.patch('/api/v1/networks/{network_id}', network)
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: `${receiver.url}/planted` } })
  const relayer = { path: { relayer_id: 'demo' } }
  await client.patch('/api/v1/relayers/{relayer_id}', { ...relayer, body: { notification_id: 'hook' } })
  await client.patch('/api/v1/relayers/{relayer_id}', { ...relayer, body: { paused: true } })
  await expect.poll(() => receiver.got.length).toBe(1)
  const headers = {
    Authorization: `Bearer ${api_key}`,
    traceparent: `00-${traceId}-${spanId}-01`,
    'X-Request-Id': 'mine',
  }
  expect((await service.raw('/api/v1/relayers/demo/balance', { headers })).status).toBe(200)
  expect((await service.raw('/planted?planted=planted', { headers })).status).toBe(404)
  await service.close()

  const request = collector.spans.find(({ name }) => name === 'getRelayerBalance') as SentSpan
  expect(request).toMatchObject({ traceId, parentSpanId: spanId, kind: 2 })
  expect(attributesOf(request)).toEqual({
    'http.request.method': 'GET',
    'http.request.header.x-request-id': { values: [{ stringValue: 'mine' }] },
    'http.route': '/api/v1/relayers/{relayer_id}/balance',
    'http.response.status_code': 200,
  })
  // The comparison of nonces at the start belongs to no request.
  const ofStart = new Set([
    'batch of 2',
    'eth_getTransactionCount',
    'eth_getTransactionBySenderAndNonce',
    'txpool_contentFrom',
  ])
  // The change of the network asks its nodes.
  const { spanId: ofChange } = collector.spans.find(({ name }) => name === 'updateNetwork') as SentSpan
  const calls = collector.spans.filter(
    (span) =>
      attributesOf(span)['rpc.system'] === 'jsonrpc' && !ofStart.has(span.name) && span.parentSpanId !== ofChange,
  )
  expect(calls.map(({ name }) => name)).toContain('eth_getBalance')
  for (const call of calls) {
    expect(call).toMatchObject({ traceId, parentSpanId: request.spanId, kind: 3 })
    expect(attributesOf(call)['server.address']).toBe(new URL(chain.url).host)
  }
  const delivery = collector.spans.find(({ name }) => name === 'delivery') as SentSpan
  expect(attributesOf(delivery)).toMatchObject({
    'http.response.status_code': 204,
    'server.address': new URL(receiver.url).host,
    'webhook.id': receiver.got[0]?.headers['webhook-id'],
    'webhook.attempt': 1,
  })
  expect([...collector.services]).toEqual(['mine'])
  expect(JSON.stringify(collector.spans)).not.toContain('planted')
  expect(JSON.stringify(collector.spans)).not.toContain(api_key)
})

test('excludes work that continues after the end of a request from its trace', async () => {
  const collector = await startCollector()
  const chain = await testChain({ noMining: true })
  const service = await startTestService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
  const { client, api_key } = service
  const network = { path: { network_id: 'evm:local' }, body: { rpc_urls: [chain.url] } }
  await client.patch('/api/v1/networks/{network_id}', network)
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
  await chain.setBalance(relayer.address, 10n ** 20n)
  const headers = {
    Authorization: `Bearer ${api_key}`,
    'Content-Type': 'application/json',
    traceparent: `00-${traceId}-${spanId}-01`,
  }
  const body = JSON.stringify({ to: relayer.address, value: '1', gas_limit: 21_000 })
  const sent = await service.raw('/api/v1/relayers/demo/transactions', { method: 'POST', headers, body })
  expect(sent.status).toBe(201)
  const status = async () =>
    (await client.get('/api/v1/relayers/{relayer_id}/transactions/', { path: { relayer_id: 'demo' } })).data[0]?.status
  await expect.poll(status).toBe('submitted')
  await chain.mine()
  await expect.poll(status).toBe('confirmed')
  await service.close()
  const receipts = collector.spans.filter((span) => `${attributesOf(span)['rpc.method']}`.includes('Receipt'))
  expect(receipts.length).toBeGreaterThan(0)
  for (const { traceId: its, parentSpanId } of receipts)
    expect([its === traceId, parentSpanId]).toEqual([false, undefined])
})

test('is not affected by a collector that does not answer', async () => {
  const service = await startTestService({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9/v1/traces' })
  expect((await service.raw('/api/v1/relayers')).status).toBe(200)
  await service.close()
})

const contexts: [string | undefined, object | undefined][] = [
  [`00-${traceId}-${spanId}-01`, { traceId, spanId, traceFlags: 1 }],
  [`00-${traceId}-${spanId}-00`, { traceId, spanId, traceFlags: 0 }],
  [`01-${traceId}-${spanId}-01-more`, { traceId, spanId, traceFlags: 1 }],
  [`00-${traceId}-${spanId}-01-more`, undefined],
  [`ff-${traceId}-${spanId}-01`, undefined],
  [`00-${'0'.repeat(32)}-${spanId}-01`, undefined],
  [`00-${traceId}-${'0'.repeat(16)}-01`, undefined],
  [`00-${traceId.toUpperCase()}-${spanId}-01`, undefined],
  ['', undefined],
  [undefined, undefined],
]

test.each(contexts)('traceparent %s', (header, expected) => {
  expect(parseTraceparent(header)).toEqual(expected)
})

test('loads no module that no setting enables', async () => {
  const script = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    const { readConfig } = await import('./server/config.ts')
    const { startService } = await import('./server/app.ts')
    await (await startService(readConfig(process.env))).close()
    console.log(['opentelemetry', 'prom-client', 'express'].filter((name) => loaded.some((url) => url.includes(name))).join())`
  const run = async (settings: Record<string, string>) => {
    const env = { ...nodeEnvironment, DATA_DIR: temporaryFolder(), PORT: '0', ...settings }
    const cwd = join(import.meta.dirname, '..', '..')
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd, env })
    return stdout.trim()
  }
  expect(await run({})).toBe('express')
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', METRICS_PORT: '0' }
  expect(await run(endpoint)).toBe('opentelemetry,prom-client,express')
})
