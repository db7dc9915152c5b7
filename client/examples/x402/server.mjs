// A server whose answers are paid for (x402), with the facilitator of the relayer service: its URL and its key, and nothing else is ours.
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'

const { FACILITATOR_URL: url = 'http://127.0.0.1:8080/api/v1/facilitators/shop', FACILITATOR_KEY: key } = process.env
const { TOKEN: asset = '0x700b6a60ce7eaaea56f065753d8dcb9653dbad35', PORT = '4021' } = process.env
const { PAYEE: payTo = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc', NETWORK: network = 'eip155:31337' } = process.env

const headers = { Authorization: `Bearer ${key}` }
const createAuthHeaders = async () => ({ verify: headers, settle: headers, supported: headers })
const resourceServer = new x402ResourceServer(new HTTPFacilitatorClient({ url, createAuthHeaders }))
resourceServer.register(network, new ExactEvmScheme())

const price = { amount: '10000', asset, extra: { name: 'USD Coin', version: '2' } }
const accepts = { scheme: 'exact', price, network, payTo }
const app = express()
app.use(paymentMiddleware({ 'GET /paid': { accepts, description: 'An answer' } }, resourceServer))
app.get('/paid', (_, response) => response.json({ answer: 42 }))
const server = app.listen(Number(PORT), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}/paid`),
)
