import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { Failure, TransactionAttempt } from '../client/index.ts'
import { escapedLine, printable } from '../server/lib/printable.ts'
import { relayerCommand } from './support/relayer-command.ts'
import { startTestService } from './support/service.ts'

/** A window title, a cleared screen, an 8-bit control sequence, a reversed text and a line that looks like another one's result. */
const hostile = '\u001b]0;title\u0007\u001b[2J\u009b32m\u202e\u2066\r\nok  everything'
const harmful = /(?!\n)[\p{Cc}\p{Cf}]/u

/** Answers every request with a hostile text, as a node, a key service or a receiver of webhooks may. */
async function startHostile(): Promise<string> {
  const server = createServer((request, response) => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 0,
      error: { code: -32_000, message: hostile },
      errors: [hostile],
    })
    response.writeHead(request.url === '/node' ? 200 : 400).end(request.url === '/hook' ? hostile : body)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('shows no control or format character of a node, a key service or a receiver in answers, logs and the terminal', async () => {
  const url = await startHostile()
  const service = await startTestService()
  const { run } = relayerCommand(service)
  const config = { url, path: 'a', token: 't' }
  const failed = await service.raw('/api/v1/signers', {
    method: 'POST',
    body: JSON.stringify({ type: 'vault', config }),
  })
  const { details } = (await failed.json()) as Failure
  expect(details?.[0]?.message).toContain('everything')
  expect(details?.[0]?.message).not.toMatch(/[\p{Cc}\p{Cf}]/u)

  const path = { network_id: 'evm:local' }
  await service.client.patch('/api/v1/networks/{network_id}', { path, body: { rpc_urls: [`${url}/node`] } })
  const doctor = await run(['doctor'])
  expect(doctor.out + doctor.err).not.toMatch(harmful)
  expect(doctor.out).not.toMatch(/^ok {2}everything/m)

  const { data: hook } = await service.client.post('/api/v1/notifications', {
    body: { id: 'hook', type: 'webhook', url: `${url}/hook` },
  })
  const tried = await service.client.post('/api/v1/notifications/{notification_id}/test', {
    path: { notification_id: hook.id },
  })
  const { answer } = tried.data as unknown as TransactionAttempt & { answer: string }
  expect(JSON.stringify(tried.data)).toContain('everything')
  expect(JSON.stringify(tried.data)).not.toMatch(harmful)
  expect(answer ?? '').not.toMatch(harmful)
  expect(service.logged.join('')).not.toMatch(harmful)
})

test('prints no control character of a service, as text or as JSON', async () => {
  const server = createServer((_, response) => {
    const body = {
      success: false,
      data: null,
      message: hostile,
      code: 'not_found',
      details: [{ path: 'a', message: hostile }],
    }
    response.writeHead(404, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { run } = relayerCommand({ url, api_key: 'k' } as never)
  for (const words of [['tx', 'show', 'a', '-r', 'b'], ['doctor'], ['tx', 'show', 'a', '-r', 'b', '--json']]) {
    const { out, err } = await run(words)
    expect(out + err).toContain('everything')
    expect(out + err).not.toMatch(harmful)
  }
})

test('replaces control and format characters in texts, and escapes them in lines of JSON', () => {
  expect(printable('a\u0000\n\u001b[\u009b\u200e\u2028\ud800é😀b')).toBe('a ;  [  ;  é😀b')
  const line = JSON.stringify({ msg: '\u009b\u202e\u{e0041}é' })
  expect(escapedLine(line)).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  expect(JSON.parse(escapedLine(line))).toEqual({ msg: '\u009b\u202e\u{e0041}é' })
})
