// A receiver of webhooks with Express: verifies each delivery, and processes each event once.
import { verifyWebhook, WebhookError } from '@evm-relayer-service/client/webhook'
import express from 'express'

const { SIGNING_KEY = '', PORT = '3000' } = process.env
const app = express()
// In production: a table with a unique key, so that a restart forgets nothing.
const processed = new Set()

// The signature covers the bytes, so they must not be parsed before.
app.post('/webhook', express.raw({ type: 'application/json' }), async (request, response) => {
  try {
    const event = await verifyWebhook(SIGNING_KEY, request.headers, request.body)
    if (!processed.has(event.id)) {
      processed.add(event.id)
      console.log(event.sequence, event.event, JSON.stringify(event.payload))
    }
    response.sendStatus(204)
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    response.status(400).send(error.message)
  }
})

const server = app.listen(Number(PORT), '127.0.0.1', () => console.log('listening on', server.address().port))
