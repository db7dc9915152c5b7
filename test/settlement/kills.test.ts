import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createRelayerClient, type RelayerClient, type X402Request } from '../../client/index.ts'
import { testChain } from '../support/chain.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { amount, authorizationIn, deployMoney, maxFee } from '../support/payments.ts'
import { newDatabase } from '../support/postgres.ts'
import { type ServiceProcess, spawnService } from '../support/process.ts'
import { temporaryFolder } from '../support/service.ts'
import { until } from '../support/until.ts'

// `npm run test:settlement` is the long form: 500 payments, 30 kills.

const payments = Number(process.env.PAYMENTS ?? 40)
const kills = Number(process.env.KILLS ?? 3)
const relayers = 4
const apiKey = 'the-killed-servers-have-one-api-key'

interface Running extends ServiceProcess {
  url: string
}

async function start(settings: Record<string, string>): Promise<Running> {
  const its = { API_KEY: apiKey, MASTER_KEY: '5a'.repeat(32), RATE_LIMIT_BURST: '1000000', ...settings }
  const service = spawnService(its)
  const [, url = ''] = await service.wrote(/API\s+(http:\/\/[^\s/]+)\/api\/v1\n/)
  return { ...service, url }
}

/** Without retries of its own: each repetition of a request is the caller's. */
const clientOf = ({ url }: Running, token = apiKey, maxRetries = 0): RelayerClient =>
  createRelayerClient({ baseUrl: url, token, maxRetries, fetch: asOnlyWriter })

test.each(['one server on SQLite', 'two servers on PostgreSQL'])(
  `settles each of ${payments} payments once through ${kills} kills, and tells each caller one hash: %s`,
  async (name) => {
    const chain = await testChain()
    const money = await deployMoney(chain)
    const settings = await settingsOf(name)
    const servers = await Promise.all(settings.map(start))
    const client = clientOf(servers[0] as Running, apiKey, 5)
    await client.patch('/api/v1/networks/{network_id}', {
      path: { network_id: 'evm:local' },
      body: { rpc_urls: [chain.url], required_confirmations: 1, average_blocktime_ms: 500 },
    })
    const ids = Array.from({ length: relayers }, (_, index) => `payer-${index}`)
    const addresses = await Promise.all(
      ids.map(async (id) => {
        const signer = await client.signers.create({ type: 'generated' })
        const its = { id, name: id, network: 'local', network_type: 'evm' as const, paused: false }
        const { address } = await client.relayers.create({ ...its, signer_id: signer.id })
        await chain.setBalance(address, 10n ** 24n)
        return address
      }),
    )
    await client.pools.create({ id: 'payers', network: 'local', relayer_ids: ids })
    const budget = { max_fee_per_day: `${maxFee * 10_000n}`, wait_seconds: 5 }
    const { token } = await client.facilitators.create({ ...money.rules, ...budget, pool_id: 'payers' })

    const payer = await money.newPayer()
    for (let index = 0; index * 90 < payments; index += 1) await money.mint(payer.address)
    const requests = await Promise.all(Array.from({ length: payments }, () => money.pay(payer)))
    let [settled, lost] = [0, 0]
    /** Repeats one request until it is settled. Resolves to the hashes that it was told. */
    const pay = async (request: X402Request, index: number): Promise<Set<string>> => {
      const told = new Set<string>()
      for (let count = index; ; count += 1) {
        const server = servers[count % servers.length] as Running
        const answer = await clientOf(server, token)
          .facilitators.settlePayment('shop', request)
          .catch(() => undefined)
        if (answer === undefined) {
          lost += 1
          await pause(100)
          continue
        }
        if (answer.transaction !== '') told.add(answer.transaction)
        if (!answer.success && answer.errorReason !== 'settlement_pending') throw new Error(JSON.stringify(answer))
        if (answer.success) {
          settled += 1
          return told
        }
      }
    }
    const paid = Promise.all(requests.map(pay))
    let heldUp = 0
    const look = async () => {
      heldUp += await chain.dropHeldUp().catch(() => 0)
    }
    const looking = setInterval(look, 2_000)
    onTestFinished(() => clearInterval(looking))
    for (let count = 0; count < kills; count += 1) {
      // Spread over the work, whatever its speed is.
      const due = Math.floor((count * payments) / (kills + 1))
      await until(`${due} are settled`, () => settled >= due)
      const at = count % servers.length
      const victim = servers[at] as Running
      victim.signal('SIGKILL')
      await victim.ended
      servers[at] = await start(settings[at] as Record<string, string>)
    }
    const told = await paid
    process.stdout.write(
      `${name}: ${payments} payments, ${kills} kills, ${lost} answers lost, ${heldUp} times held up by anvil\n`,
    )

    const logs = await money.provider.getLogs({ address: money.token, fromBlock: 0, topics: [usedTopic] })
    const minedBy = Map.groupBy(logs, ({ topics }) => topics[2])
    expect([logs.length, minedBy.size]).toEqual([payments, payments])
    expect(await money.received()).toBe(BigInt(amount) * BigInt(payments))
    for (const [index, request] of requests.entries()) {
      const [log] = minedBy.get(authorizationIn(request).authorization.nonce) ?? []
      expect([...(told[index] as Set<string>)]).toEqual([log?.transactionHash])
    }
    // Nothing else was sent: no second transaction, and no cancellation.
    const counts = await Promise.all(addresses.map((address) => money.provider.getTransactionCount(address)))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(payments)
    expect(lost).toBeGreaterThan(0)
  },
)

/** AuthorizationUsed(address,bytes32) */
const usedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'

async function settingsOf(name: string): Promise<Record<string, string>[]> {
  if (name === 'one server on SQLite') return [{ DATA_DIR: temporaryFolder() }]
  const { url, drop } = await newDatabase()
  onTestFinished(drop)
  return [temporaryFolder(), temporaryFolder()].map((folder) => ({ DATABASE_URL: url, DATA_DIR: folder }))
}
