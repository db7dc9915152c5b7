import { randomBytes } from 'node:crypto'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { describe, expect, test } from 'vitest'
import { signWebhook, verifyWebhook, WebhookError } from '../../client/webhook.ts'
import { signatureHeaders } from '../../server/webhooks/signature.ts'

const id = '01a1fd94-238d-76e4-bf44-be8d15fb8b91'
const now = () => Math.floor(Date.now() / 1_000)
const body = JSON.stringify({ id, event: 'test', payload: { text: 'Grüße, 世界' } })

/** How each kind of key is passed to a library: those that take base64 get the bytes that the service signed with. */
const keys: [kind: string, key: string, given: string][] = [
  ['whsec_', 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD', 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
  ['base64', 'C2FVsBQIhrscChlQIMV+b5sSYspob7oD', 'C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
  ['hex', randomBytes(32).toString('hex'), 'hex as it stands'],
  ['a UUID', 'b7a9a1e2-6a0c-4d5e-9a57-6a1c3a2b9d10', 'base64 of its text'],
  ['a passphrase', 'correct horse battery staple', 'base64 of its text'],
  ['Unicode', 'пароль 密码 🔑', 'base64 of its text'],
].map(([kind, key, given]) => {
  const text = given?.startsWith('base64') ? Buffer.from(key as string, 'utf8').toString('base64') : (key as string)
  return [kind as string, key as string, text]
})

const headersOf = (key: string, former?: string, timestamp = now()) => ({
  'webhook-id': id,
  'webhook-timestamp': String(timestamp),
  ...signatureHeaders({ key, former, id, timestamp, body }),
})

describe.each(keys)('%s', (_kind, key, given) => {
  const headers = headersOf(key) as Record<string, string>

  test('passes the library standardwebhooks', () => {
    expect(new StandardWebhook(given).verify(body, headers)).toEqual(JSON.parse(body))
  })

  test('passes the library svix', () => {
    expect(() => new SvixWebhook(given).verify(body, headers)).not.toThrow()
    expect(() => new SvixWebhook(given).verify(`${body} `, headers)).toThrow()
  })

  test('passes our own client, which signs the same', async () => {
    expect(await verifyWebhook(key, headers, body)).toEqual(JSON.parse(body))
    const { 'x-signature': x, ...signed } = await signWebhook(key, id, body, Number(headers['webhook-timestamp']))
    expect({ ...signed, 'X-Signature': x }).toEqual(headers)
  })
})

test('refuses a thousand mutations of id, time, body and signature', async () => {
  const key = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
  const headers = headersOf(key) as Record<string, string>
  const parts = ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'body'] as const
  let refused = 0
  for (let index = 0; index < 1_000; index += 1) {
    const part = parts[index % parts.length] as (typeof parts)[number]
    const text = part === 'body' ? body : (headers[part] as string)
    // The prefix of a signature names its version; every character after it counts.
    const from = part === 'webhook-signature' ? 3 : 0
    const length = part === 'webhook-signature' ? text.length - 5 : text.length
    const at = from + (Math.floor(index / parts.length) % (length - from))
    const other = part === 'webhook-timestamp' ? String((Number(text[at]) + 1) % 10) : text[at] === 'A' ? 'B' : 'A'
    const mutated = text.slice(0, at) + other + text.slice(at + 1)
    const attempt =
      part === 'body' ? verifyWebhook(key, headers, mutated) : verifyWebhook(key, { ...headers, [part]: mutated }, body)
    await expect(attempt, `${part} ${at}`).rejects.toThrow(WebhookError)
    refused += 1
  }
  expect(refused).toBe(1_000)
})

test('rejects a timestamp that is too old or in the future, and another key', async () => {
  const key = 'a key'
  const attempt = (timestamp: number) => verifyWebhook(key, headersOf(key, undefined, timestamp) as never, body)
  await expect(attempt(now() - 301)).rejects.toThrow('within 300 s')
  await expect(attempt(now() + 302)).rejects.toThrow('within 300 s')
  await expect(verifyWebhook('b key', headersOf(key) as never, body)).rejects.toThrow('does not match')
})

test('signs with a former key beside the new one in webhook-signature only', async () => {
  const headers = headersOf('new key', 'old key') as Record<string, string>
  expect(headers['webhook-signature']?.split(' ')).toHaveLength(2)
  await verifyWebhook('old key', headers, body)
  expect(headers['X-Signature']).toBe(headersOf('new key')['X-Signature'])
})

test('signs nothing without a key', () => {
  expect(signatureHeaders({ key: undefined, former: undefined, id, timestamp: 1, body })).toEqual({})
})
