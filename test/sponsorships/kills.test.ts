import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { testChain } from '../support/chain.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { newDatabase } from '../support/postgres.ts'
import { type ServiceProcess, spawnService } from '../support/process.ts'
import { temporaryFolder } from '../support/service.ts'
import { deployGame, newUser } from '../support/sponsorship.ts'
import { until } from '../support/until.ts'

// `KILLS=50 npx vitest run --config test/vitest.config.ts test/sponsorships/kills.test.ts` is the long form.

const kills = Number(process.env.KILLS ?? 2)
const apiKey = 'the-killed-servers-have-one-api-key'

interface Running extends ServiceProcess {
  /** By default, it repeats no request by itself. */
  client(token?: string, maxRetries?: number): RelayerClient
}

async function start(settings: Record<string, string>): Promise<Running> {
  const its = { API_KEY: apiKey, MASTER_KEY: '5a'.repeat(32), RATE_LIMIT_BURST: '100000', ...settings }
  const service = spawnService(its)
  const [, baseUrl = ''] = await service.wrote(/API\s+(http:\/\/[^\s/]+)\/api\/v1\n/)
  return {
    ...service,
    client: (token = apiKey, maxRetries = 0) =>
      createRelayerClient({ baseUrl, token, maxRetries, fetch: asOnlyWriter }),
  }
}

test.each(['one server on SQLite', 'two servers on PostgreSQL'])(
  'executes each call of users once through kills before the broadcast: %s',
  async (name) => {
    const chain = await testChain()
    const game = await deployGame(chain)
    const settings = await settingsOf(name)
    const servers = await Promise.all(settings.map(start))
    const [first] = servers as [Running]
    const client = first.client(apiKey, 5)
    await client.patch('/api/v1/networks/{network_id}', {
      path: { network_id: 'evm:local' },
      body: { rpc_urls: [chain.url], required_confirmations: 1, average_blocktime_ms: 500 },
    })
    const signer = (await client.post('/api/v1/signers', { body: { type: 'generated' } })).data
    const { data: relayer } = await client.post('/api/v1/relayers', {
      body: { name: 'Pays', network: 'local', network_type: 'evm', paused: false, signer_id: signer.id },
    })
    await chain.setBalance(relayer.address, 10n ** 24n)
    const { token } = await client.sponsorships.create({ ...game.rules, relayer_id: relayer.id })

    const users = Array.from({ length: kills }, newUser)
    let told = 0
    for (const [index, user] of users.entries()) {
      const body = { to: game.forwarder, data: await game.forward(user, { nonce: 0n }) }
      const at = index % servers.length
      const victim = servers[at] as Running
      const sent = victim
        .client(token)
        .sponsorships.sendSponsoredCall('game', body)
        .catch(() => undefined)
      // From before the request is read to after the broadcast.
      await (index % 2 ? sent : pause(20 + (index % 10) * 20))
      victim.signal('SIGKILL')
      const [answer] = await Promise.all([sent, victim.ended])
      servers[at] = await start(settings[at] as Record<string, string>)
      const again = await servers[at].client(token).sponsorships.sendSponsoredCall('game', body)
      if (answer) told += 1
      if (answer) expect(again.id).toBe(answer.id)
    }
    await until('all calls are executed', async () => (await game.plays()) === BigInt(kills))
    for (const user of users) expect(await game.plays(user.address)).toBe(1n)
    const { data } = await (servers[0] as Running).client().get('/api/v1/relayers/{relayer_id}/transactions/', {
      path: { relayer_id: relayer.id },
      query: { per_page: 100 },
    })
    expect(data).toHaveLength(kills)
    expect(told).toBeGreaterThan(0)
  },
)

async function settingsOf(name: string): Promise<Record<string, string>[]> {
  if (name === 'one server on SQLite') return [{ DATA_DIR: temporaryFolder() }]
  const { url, drop } = await newDatabase()
  onTestFinished(drop)
  return [temporaryFolder(), temporaryFolder()].map((DataDir) => ({ DATABASE_URL: url, DATA_DIR: DataDir }))
}
