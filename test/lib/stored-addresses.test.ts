import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import type { RelayerError } from '../../client/index.ts'
import { listen } from '../support/listen.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'
import { until } from '../support/until.ts'

test('calls no private RPC address that was stored before the setting forbade it, and the log gives the reason', async () => {
  let asked = 0
  const node = await listen(
    createServer((_, response) => {
      asked += 1
      response.end('{"jsonrpc":"2.0","id":0,"result":"0x7a69"}')
    }),
  )
  const first = await startTestService()
  const relayer = await createRelayer(first.client, { custom_rpc_urls: [node] })
  await first.close()
  asked = 0

  const { client, logged } = await startTestService({
    DATA_DIR: first.data_dir,
    ALLOW_PRIVATE_TARGETS: 'false',
  })
  const refused = await client
    .get('/api/v1/relayers/{relayer_id}/balance', { path: { relayer_id: relayer.id } })
    .catch((error: RelayerError) => error)
  const reason = 'must have a public address (ALLOW_PRIVATE_TARGETS=true allows private ones)'
  expect(refused).toMatchObject({
    status: 503,
    details: [{ path: 'network', message: `No node of the network answers (Its URL ${reason})` }],
  })
  const body = { to: `0x${'5a'.repeat(20)}`, value: '1' }
  const path = { relayer_id: relayer.id }
  await client.post('/api/v1/relayers/{relayer_id}/transactions/dry-run', { path, body }).catch(() => undefined)
  await until('the log names the endpoint', () =>
    logged.some((line) => line.includes('rpc endpoint down') && line.includes(`Its URL ${reason}`)),
  )
  expect(asked).toBe(0)
})
