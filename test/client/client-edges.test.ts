import { expect, test } from 'vitest'
import { createRelayerClient } from '../../client/index.ts'
import { signWebhook, verifyWebhook, WebhookError } from '../../client/webhook.ts'

const key = `whsec_${Buffer.from('a'.repeat(32)).toString('base64')}`
const body = '{"id":"e1","event":"test"}'

test.each(['pending', '..', '.', ''])('never sends a DELETE of the transaction "%s"', async (transactionId) => {
  let calls = 0
  const fetch = async () => {
    calls += 1
    return Response.json({ success: true, data: null, error: '', pagination: null })
  }
  const client = createRelayerClient({ baseUrl: 'http://a.example.com', token: 't', fetch: fetch as never })
  const path = { relayer_id: 'r', transaction_id: transactionId }
  await expect(client.delete('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path })).rejects.toThrow(
    RangeError,
  )
  expect(calls).toBe(0)
})

test.each([
  { toleranceSeconds: Number.NaN },
  { toleranceSeconds: -1 },
  { toleranceSeconds: Number.POSITIVE_INFINITY },
  { now: Number.NaN },
])('verifies no delivery with the option %j', async (options) => {
  const headers = await signWebhook(key, 'id', body, 1)
  await expect(verifyWebhook(key, headers, body, options)).rejects.toThrow(RangeError)
})

test.each(['whsec_', ''])('verifies no delivery with the signing key "%s"', async (empty) => {
  const headers = await signWebhook(key, 'id', body)
  await expect(verifyWebhook(empty, headers, body)).rejects.toThrow(/must not be empty/)
})

test('refuses an id with a dot, and signed bodies that are no event, with WebhookError', async () => {
  const dotted = await signWebhook(key, 'id.1', body)
  await expect(verifyWebhook(key, dotted, body)).rejects.toThrow(WebhookError)
  for (const malformed of ['', '{', 'null', '[]', '1']) {
    const headers = await signWebhook(key, 'id', malformed)
    await expect(verifyWebhook(key, headers, malformed)).rejects.toThrow(WebhookError)
  }
})
