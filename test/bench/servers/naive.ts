import { createServer } from 'node:http'
import { join } from 'node:path'
import { getBytes, SigningKey, solidityPackedKeccak256, Wallet } from 'ethers'
import express from 'express'
import * as OpenApiValidator from 'express-openapi-validator'
import { apiKey } from '../processes.ts'
import { key } from '../stage.ts'
import { listen } from './listen.ts'

// The obvious build: Express, express-openapi-validator as its manual mounts it, ethers.

const wallet = new Wallet(key)
const app = express()
app.use(express.json())
app.use(
  OpenApiValidator.middleware({
    apiSpec: join(import.meta.dirname, '..', '..', '..', 'openapi.yaml'),
    validateRequests: true,
    validateResponses: true,
    validateSecurity: { handlers: { token: (request) => request.headers.authorization === `Bearer ${apiKey}` } },
  }),
)
app.post('/api/v1/relayers/:relayer_id/sign', async (request, response) => {
  response.json(envelope(await wallet.signMessage(request.body.message)))
})
app.post('/api/v1/relayers/:relayer_id/sign-typed-data', (request, response) => {
  const { domain_separator, hash_struct_message } = request.body
  const hashes = [domain_separator, hash_struct_message].map((hash: string) =>
    hash.startsWith('0x') ? hash : `0x${hash}`,
  )
  const digest = solidityPackedKeccak256(['bytes2', 'bytes32', 'bytes32'], ['0x1901', ...hashes])
  response.json(envelope(new SigningKey(key).sign(getBytes(digest)).serialized))
})
await listen(createServer(app))

function envelope(sig: string) {
  const v = Number.parseInt(sig.slice(-2), 16)
  const data = { r: sig.slice(0, 66), s: `0x${sig.slice(66, 130)}`, sig, v }
  return { success: true, data, error: '', pagination: { current_page: 1, per_page: 1, total_items: 1 } }
}
