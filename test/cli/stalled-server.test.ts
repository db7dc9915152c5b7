import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../support/command.ts'
import { newDatabase } from '../support/postgres.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'
import { until } from '../support/until.ts'

/** A service on PostgreSQL that counts as gone, because it was stalled, and goes on afterwards with what it has in memory. */
async function stalledService() {
  const { url: DatabaseUrl, query, drop } = await newDatabase()
  onTestFinished(drop)
  const settings = { DATABASE_URL: DatabaseUrl, DATA_DIR: temporaryFolder() }
  const service = await startTestService(settings)
  const post = async (path: string, body: object) =>
    (await service.raw(path, { method: 'POST', body: JSON.stringify(body) })).status
  const sign = () => post('/api/v1/relayers/demo/sign', { message: 'Hello' })
  expect(await sign()).toBe(200)
  // Its renewals fail: none can happen between the two changes.
  await query(`BEGIN; LOCK TABLE servers; UPDATE servers SET until = '2001-01-01';
    ALTER TABLE servers ADD CONSTRAINT stalled CHECK (state = 'idle' OR until < '2001-01-02'); COMMIT`)
  const run = (command: string, ...parameters: string[]) => runCommand(command, parameters, settings)
  return { settings, query, post, sign, run, service }
}

test('a server that was stalled during a rotation of the master key signs and writes nothing', async () => {
  const { settings, query, post, sign, run, service } = await stalledService()
  const states = async () => [
    await query('SELECT row_id, id, secret, rights_version, rights_mac FROM signers ORDER BY row_id'),
    await query('SELECT row_id, id, policies, rights_version, rights_mac FROM relayers ORDER BY row_id'),
    await query('SELECT row_id, signing_key FROM notifications ORDER BY row_id'),
    await query('SELECT sealed FROM rights_manifest'),
  ]
  expect((await run('rotate-master-key')).out).toContain('secrets are encrypted under the new master key')
  const before = await states()
  await query('ALTER TABLE servers DROP CONSTRAINT stalled')
  expect(await sign()).toBe(503)
  const answers = [
    await post('/api/v1/signers', { type: 'generated' }),
    await post('/api/v1/notifications', { type: 'webhook', url: 'https://hooks.example.com', signing_key: 'secret' }),
    await post('/api/v1/relayers/demo/transactions', { to: `0x${'5a'.repeat(20)}`, value: '1' }),
    (await service.raw('/api/v1/relayers/demo', { method: 'PATCH', body: '{"paused":true}' })).status,
  ]
  expect(answers.filter((status) => status < 500)).toEqual([])
  expect(await states()).toEqual(before)
  await service.close()
  expect((await run('rights', 'verify')).out).toBe('All rows that grant rights are unchanged.\n')
  const again = await startTestService(settings)
  const path = { relayer_id: 'demo' }
  const { data } = await again.client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hello' } })
  expect(data.sig).toMatch(/^0x/)
})

test('a server that was stalled while changed rows were accepted follows them from the next request on', async () => {
  const { query, sign, run } = await stalledService()
  await query(`UPDATE relayers SET policies = '{"allow_messages":false}'`)
  expect((await run('rights', 'accept')).out).toContain('rows that grant rights are accepted')
  await query('ALTER TABLE servers DROP CONSTRAINT stalled')
  // It answers 503 until it has its registration back, and never with what it had in memory.
  let status = 503
  await until('the server works again', async () => {
    status = await sign()
    return status !== 503
  })
  expect(status).toBe(403)
})
