// The typed client: sends a transaction once, and waits until it is confirmed.
import { createRelayerClient, RelayerError } from '@evm-relayer-service/client'

const { RELAYER_URL = 'http://127.0.0.1:8080', RELAYER_API_KEY = '', RELAYER_ID = 'demo' } = process.env
const client = createRelayerClient({ baseUrl: RELAYER_URL, token: RELAYER_API_KEY })

try {
  const transfer = { to: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', value: 10n ** 15n }
  const { id } = await client.transactions.send(RELAYER_ID, transfer)
  const { status, hash } = await client.transactions.wait(RELAYER_ID, id)
  console.log(status, hash)
} catch (error) {
  if (!(error instanceof RelayerError)) throw error
  console.log(error.status, error.code, error.message)
}
