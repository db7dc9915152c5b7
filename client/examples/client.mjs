// The typed client: sends a transaction once, and waits until it is confirmed.
import { createRelayerClient, RelayerError } from 'evm-relayer-client'

const { RELAYER_URL = 'http://127.0.0.1:8080', RELAYER_API_KEY = '', RELAYER_ID = 'demo' } = process.env
const client = createRelayerClient({ baseUrl: RELAYER_URL, token: RELAYER_API_KEY })

try {
  const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    path: { relayer_id: RELAYER_ID },
    query: { wait: 'confirmed' },
    header: { 'Idempotency-Key': crypto.randomUUID() },
    body: { to: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', value: 10n ** 15n },
  })
  console.log(data.status, data.hash)
} catch (error) {
  if (!(error instanceof RelayerError)) throw error
  console.log(error.status, error.code, error.message)
}
