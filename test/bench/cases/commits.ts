import type { NewTransaction } from '../../../server/domain/new-transaction.ts'
import { openSqliteStore } from '../../../server/store/sqlite.ts'
import type { Case } from '../case.ts'
import type { Figures } from '../measure.ts'
import { inFolder, startOurs, withServers } from '../processes.ts'
import { createBenchRelayer, databaseOf } from '../stage.ts'

const atOnce = 50
const count = 5_000

/** The store alone, in this process: fifty creates at once, which it commits together, against one after the other. */
export const groupCommit: Case = (bench) =>
  inFolder(async (folder) => {
    await withServers([() => startOurs(folder)], async (ours) => createBenchRelayer(ours?.url ?? ''))
    let made = 0
    const makeId = () => {
      made += 1
      return `made-${made}`
    }
    const world = { now: Date.now, makeId, checkEvent: () => undefined }
    const store = openSqliteStore(databaseOf(folder), world as never)
    const relayer = await store.getRelayer('bench')
    if (!relayer) throw new Error('There is no relayer')
    const create = () => store.createTransaction({ ...wanted, ...of(relayer), id: makeId() })
    const rounds = { together: [] as Figures[], alone: [] as Figures[] }
    for (let round = 0; round < bench.rounds; round += 1) {
      rounds.alone.push(await timed(count / 5, async () => void (await create())))
      rounds.together.push(
        await timed(count, async () => void (await Promise.all(Array.from({ length: atOnce }, create))), atOnce),
      )
    }
    store.close()
    return {
      rounds,
      ratios: [{ figure: 'creates_per_s', over: 'together', under: 'alone', wanted: '>= 4' }],
    }
  })

async function timed(creates: number, work: () => Promise<void>, step = 1): Promise<Figures> {
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  for (let done = 0; done < creates; done += step) await work()
  const elapsedMs = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpu)
  return { cpu_us: (user + system) / creates, creates_per_s: (creates * 1_000) / elapsedMs }
}

const of = ({ row_id, id, chain_id, address }: { row_id: number; id: string; chain_id: number; address: string }) => ({
  network: 'local',
  relayer_row_id: row_id,
  relayer_id: id,
  chain_id,
  from: address,
  to: address,
})

const wanted: Omit<NewTransaction, 'id' | keyof ReturnType<typeof of>> = {
  value: '1',
  data: null,
  gas_limit: 21_000,
  type: 2,
  gas_price: null,
  max_fee_per_gas: '2000000000',
  max_priority_fee_per_gas: '1000000000',
  speed: 'average',
  valid_until: null,
  intent: 'send',
  status_reason: null,
}
