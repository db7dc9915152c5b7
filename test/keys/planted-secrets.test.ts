import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { computeAddress, encryptKeystoreJson } from 'ethers'
import { expect, test } from 'vitest'
import { operations } from '../support/contract.ts'
import { listen } from '../support/listen.ts'
import { spawnService } from '../support/process.ts'
import { temporaryFolder } from '../support/service.ts'
import { until } from '../support/until.ts'

const planted = {
  api_key: 'planted-administrator-key-0123456789abcdef',
  master_key: `${'9d'.repeat(31)}1f`,
  plain_key: `${'7c'.repeat(31)}2e`,
  keystore_key: `${'6b'.repeat(31)}3d`,
  passphrase: 'planted passphrase of a keystore',
  signing_key: 'planted-signing-key-of-a-webhook',
  next_signing_key: 'planted-signing-key-that-comes-next',
  rpc_path: 'planted-rpc-path-0a1b2c3d4e5f',
  rpc_query: 'planted-rpc-query-0a1b2c3d4e5f',
  collector: 'planted-header-of-the-collector',
}
/** A notification shows its URL, and nothing else does. */
const hookToken = 'planted-token-of-a-hook'

/** A server of the test's own, for as long as the test. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  return listen(server)
}

// Thousands of requests: a busy machine needs minutes.
test('shows no secret in any response, log line, metric, span or file, in success and failure', {
  timeout: 600_000,
}, async () => {
  const spans: string[] = []
  const collectorTokens = new Set<string | undefined>()
  const collector = await serve((request, response) => {
    collectorTokens.add(request.headers.authorization)
    request.on('data', (chunk) => spans.push(`${chunk}`))
    request.on('end', () => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'))
  })
  let turn = 0
  // Responds with its chain id, and fails every other call in a different way; the errors contain the request.
  const node = await serve((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      const called = JSON.parse(text)
      const error = { code: -32_000, message: `no luck with http://${request.headers.host}${request.url}` }
      const answers = [called].flat().map(({ id, method }) => {
        const known = { eth_chainId: '0x7a69', eth_blockNumber: '0x1' }[method as string]
        return { jsonrpc: '2.0', id, ...(known === undefined ? { error } : { result: known }) }
      })
      turn += 1
      if (turn % 5 === 0) return void response.writeHead(500).end(`failed at ${request.url}`)
      if (turn % 7 === 0) return void request.socket.destroy()
      response.end(
        turn % 11 === 0 ? `${request.url} is no JSON` : JSON.stringify(Array.isArray(called) ? answers : answers[0]),
      )
    })
  })
  let refusals = 3
  const receiver = await serve((request, response) => {
    refusals -= 1
    if (refusals >= 0) response.writeHead(500)
    response.end(`called as ${request.url}`)
  })

  const dataDir = temporaryFolder()
  const headersFile = join(temporaryFolder(), 'headers')
  writeFileSync(headersFile, `authorization=${planted.collector}\n`)
  const service = spawnService({
    DATA_DIR: dataDir,
    API_KEY: planted.api_key,
    MASTER_KEY: planted.master_key,
    LOG_LEVEL: 'trace',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector,
    OTEL_EXPORTER_OTLP_HEADERS_FILE: headersFile,
    METRICS_PORT: '0',
    WEBHOOK_TIME_SCALE: '0.001',
    RATE_LIMIT_BURST: '100000',
  })
  const [, url = ''] = await service.wrote(/API\s+(http:\/\/[^\s/]+)\/api\/v1\n/)
  const [, metrics = ''] = await service.wrote(/Metrics\s+(\S+)\n/)
  const answers: { to: string; text: string }[] = []
  const ask = async (method: string, path: string, body?: unknown, token = planted.api_key, keep = true) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const response = await fetch(`${url}${path}`, { method, headers, ...(text !== undefined && { body: text }) })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    if (isStream) await response.body?.cancel()
    const answer = isStream ? '' : await response.text()
    const head = [...response.headers].join('\n')
    if (keep) answers.push({ to: `${method} ${path.split('?')[0]} ${response.status}`, text: `${head}\n${answer}` })
    return { status: response.status, answer }
  }
  const api = '/api/v1'
  const made = async (path: string, body: unknown, keep = true) => {
    const { status, answer } = await ask('POST', `${api}${path}`, body, planted.api_key, keep)
    expect(status, `${path} ${answer}`).toBeLessThan(300)
    return JSON.parse(answer).data
  }

  // All goes well: each secret in its own place.
  const account = { address: computeAddress(`0x${planted.keystore_key}`), privateKey: `0x${planted.keystore_key}` }
  const keystore = JSON.parse(await encryptKeystoreJson(account, planted.passphrase, { scrypt: { N: 1_024 } }))
  await made('/signers', { id: 'plain', type: 'plain', config: { key: planted.plain_key } })
  await made('/signers', { id: 'kept', type: 'keystore', config: { keystore, passphrase: planted.passphrase } })
  const hook = { id: 'hook', url: `${receiver}/hook?token=${hookToken}`, signing_key: planted.signing_key }
  await made('/notifications', hook, false)
  const rpcUrls = [`${node}/${planted.rpc_path}?key=${planted.rpc_query}`]
  const network = { name: 'planted', network_type: 'evm', chain_id: 31_337, rpc_urls: rpcUrls, is_testnet: true }
  await made('/networks', { ...network, required_confirmations: 1, average_blocktime_ms: 1_000 })
  const relayer = { name: 'planted', network: 'planted', network_type: 'evm', paused: false, notification_id: 'hook' }
  await made('/relayers', { ...relayer, id: 'planted', signer_id: 'plain', custom_rpc_urls: rpcUrls })
  await made('/relayers', { ...relayer, id: 'kept', signer_id: 'kept' })
  // A token is shown by the two answers that make it, and by no other.
  const { api_key: key, token } = await made('/api-keys', { name: 'planted', scopes: ['sign', 'read'] }, false)
  const { token: next } = await made(`/api-keys/${key.id}/rotate`, {}, false)
  expect([token, next]).toEqual([expect.any(String), expect.any(String)])
  for (const one of [token, next]) {
    expect((await ask('POST', `${api}/relayers/planted/sign`, { message: 'Hello' }, one)).status).toBe(200)
    expect((await ask('POST', `${api}/relayers`, {}, one)).status).toBe(403)
  }
  for (const paused of [true, false]) await ask('PATCH', `${api}/relayers/kept`, { paused })
  await ask('PATCH', `${api}/notifications/hook`, { signing_key: planted.next_signing_key }, planted.api_key, false)

  // Each operation as it should be, and with each secret where it does not belong.
  const secrets = { ...planted, token, next }
  for (const { id: operation, method, path, bodies, examples } of operations) {
    const target = path
      .replace('{relayer_id}', 'planted')
      .replace('{network_id}', 'evm:planted')
      .replace('{notification_id}', 'hook')
      .replaceAll(/\{\w+\}/g, 'none')
    const isOfHooks = path.includes('notifications')
    if (method !== 'DELETE')
      await ask(method, target, examples[0], planted.api_key, !isOfHooks && operation !== 'createApiKey')
    for (const secret of Object.values(secrets)) {
      await ask(method, `${target}?${encodeURIComponent(secret)}=1`)
      await ask(method, target, undefined, `${secret.replaceAll(' ', '-')}x`)
      if (Object.keys(bodies).length === 0) continue
      const example = examples[0] as Record<string, unknown>
      const wrong = [`{"a":${secret}}`, `"${secret}`, [secret], { [secret]: secret }, { ...example, [secret]: 1 }]
      for (const name of Object.keys(example ?? {})) wrong.push({ ...example, [name]: { [secret]: secret } })
      for (const body of wrong) {
        const { status, answer } = await ask(method, target, body)
        const isRefused = status >= 400 || (/JsonRpc$|^callMcp$/.test(operation) && answer.includes('"error":{'))
        expect.soft(isRefused, `${operation} ${status} ${answer}`).toBe(true)
      }
    }
  }
  await until('the webhooks have gone', async () => {
    const { answer } = await ask('GET', `${api}/notifications/hook/health`)
    return answer.includes('"pending_count":0')
  })
  answers.push({ to: 'a scrape', text: await (await fetch(metrics)).text() })
  service.signal('SIGTERM')
  expect(await service.ended).toBe(0)

  const kept = [
    ...answers,
    { to: 'what collects spans', text: spans.join('') },
    { to: 'whoever reads the output', text: service.out() + service.err() },
  ]
  expect(answers.at(-1)?.text).toContain('signMessage')
  expect(service.out()).toContain('"operation":"signMessage"')
  expect(spans.join('')).toContain('signMessage')
  expect([...collectorTokens]).toEqual([planted.collector])
  const shown: string[] = []
  for (const [name, secret] of Object.entries({ ...secrets, hook_token: hookToken })) {
    for (const { to, text } of kept) {
      const at = text.indexOf(secret)
      if (at < 0 || (name === 'hook_token' && /^\w+ \/api\/v1\/notifications/.test(to))) continue
      shown.push(`${name} to ${to}: ${text.slice(Math.max(0, at - 80), at + 80)}`)
    }
  }
  expect([...new Set(shown)]).toEqual([])
  // Credentials of outgoing calls must be stored; all other secrets are sealed, or only their digest is stored.
  const { rpc_path: _path, rpc_query: _query, ...sealed } = secrets
  for (const file of readdirSync(dataDir)) {
    const bytes = readFileSync(join(dataDir, file))
    for (const [name, secret] of Object.entries(sealed)) {
      const forms = [Buffer.from(secret), ...(/^[0-9a-f]{64}$/.test(secret) ? [Buffer.from(secret, 'hex')] : [])]
      for (const form of forms) expect.soft(bytes.includes(form), `${name} is in ${file}`).toBe(false)
    }
  }
})
