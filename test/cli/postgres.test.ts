import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../support/command.ts'
import { newDatabase } from '../support/postgres.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

const path = { relayer_id: 'demo' }

test('PostgreSQL: manages API keys while the service runs, and rotates the master key while it is stopped', async () => {
  const { url: DatabaseUrl, query, drop } = await newDatabase()
  onTestFinished(drop)
  const settings = { DATABASE_URL: DatabaseUrl, DATA_DIR: temporaryFolder() }
  const run = (command: string, ...parameters: string[]) => runCommand(command, parameters, settings)
  for (const command of ['api-key', 'rights']) {
    const word = command === 'api-key' ? 'list' : 'verify'
    const { code, err } = await run(command, word)
    expect([code, err], command).toEqual([1, expect.stringContaining('has no tables of the service')])
  }
  expect(await query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)).toEqual([])

  const service = await startTestService(settings)
  const made = await run('api-key', 'create', '--name', 'first', '--scope', 'sign')
  const headers = { Authorization: `Bearer ${made.out.trim()}`, 'Content-Type': 'application/json' }
  const sign = { method: 'POST', headers, body: '{"message":"Hello"}' }
  expect((await service.raw('/api/v1/relayers/demo/sign', sign)).status).toBe(200)
  const [, id = ''] = /^API key (\S+) /.exec(made.err) ?? []
  expect((await run('api-key', 'revoke', id)).code).toBe(0)
  expect((await service.raw('/api/v1/relayers/demo/sign', sign)).status).toBe(401)
  expect((await run('rights', 'verify')).out).toBe('All rows that grant rights are unchanged.\n')
  for (const command of [['rotate-master-key'], ['rights', 'accept']] as const) {
    const [name, ...words] = command
    expect(await run(name, ...words)).toMatchObject({ code: 1, err: expect.stringContaining('The database is in use') })
  }
  await service.close()

  const log = join(settings.DATA_DIR, 'log')
  writeFileSync(log, service.logged.join(''))
  const verified = await run('audit', 'verify', '--log', log)
  expect(verified).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^3 entries are unchanged.*\n(?:Chain .*\n)*All \d heads/),
  })
  const before = readFileSync(join(settings.DATA_DIR, 'master-key'), 'utf8')
  expect((await run('rotate-master-key')).out).toContain('1 secrets are encrypted under the new master key')
  expect(readFileSync(join(settings.DATA_DIR, 'master-key'), 'utf8')).not.toBe(before)
  const again = await startTestService(settings)
  expect(
    (await again.client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'a' } })).data.sig,
  ).toMatch(/^0x/)
  await again.close()

  await query(`UPDATE relayers SET policies = '{"allow_messages":false}'`)
  expect(await run('rights', 'verify')).toMatchObject({
    code: 1,
    err: expect.stringContaining('relayers "demo": changed'),
  })
  expect(await run('rotate-master-key')).toMatchObject({ code: 1, err: expect.stringContaining('(relayers:demo)') })
  expect((await run('rights', 'accept')).out).toContain('3 rows that grant rights are accepted')
  expect((await run('rights', 'verify')).code).toBe(0)
  await query(`UPDATE audit SET entries = replace(entries, 'signMessage', 'signTypedData')`)
  expect(await run('audit', 'verify')).toMatchObject({
    code: 1,
    err: expect.stringContaining('are not what was written'),
  })
})
