import { getAddress, verifyMessage } from 'ethers'
import { expect, test } from 'vitest'
import { startTestService } from './support/service.ts'

test('the demo relayer signs a message that recovers to its address', async () => {
  const { client } = await startTestService()
  const path = { relayer_id: 'demo' }
  const { data } = await client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hello' } })
  const relayer = await client.get('/api/v1/relayers/{relayer_id}', { path })
  expect(verifyMessage('Hello', data.sig)).toBe(getAddress(relayer.data.address))
})
