import { parseArgs } from 'node:util'
import type { Figures } from './measure.ts'
import { measure, report } from './sending/figures.ts'
import { allConfirmed, assertMinedOnce, postAll } from './sending/load.ts'
import { type Stage, setStage } from './sending/stage.ts'
import { until } from './sending/until.ts'

// `node test/bench/restart.ts [--count 10000] [--json FILE]`: so many transactions are accepted while the chain makes no
// block, the service is killed with -9 and started again, and the chain makes a block a second. How soon is it ready, how
// soon is everything confirmed? Once the node still has what it was handed, and once it has lost it all. On Linux.

/** Room for as many plain transfers as the service may have in flight. */
const blockGasLimit = 100_000_000

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { count: { type: 'string', default: '10000' }, json: { type: 'string' } } })
  const count = Number(values.count)
  const part = `restart with ${count} unfinished`
  const results = [
    await measure(part, 'pool kept', 1, () => restart(count, false)),
    await measure(part, 'pool lost', 1, () => restart(count, true)),
  ]
  report(results, values.json, { count, block_gas_limit: blockGasLimit })
}

async function restart(count: number, lost: boolean): Promise<Figures> {
  const stage = await setStage({ mining: false, anvil_args: ['--gas-limit', `${blockGasLimit}`] })
  try {
    const { chain, tap, address } = stage
    await postAll(stage, count, { gas_limit: 21_000 })
    let sent = -1
    await until(() => {
      const before = sent
      sent = tap.counts().eth_sendRawTransaction ?? 0
      return sent > 0 && sent === before
    }, 1_000)
    const { pending, submitted } = await countByStatus(stage)
    await stage.service.stop('SIGKILL')
    if (lost) await chain.dropAll()

    await chain.rpc('evm_setIntervalMining', [1])
    const startedAt = performance.now()
    await stage.restart()
    const cpuReadyMs = stage.service.cpu_ms()
    await until(async () => Number(await chain.rpc('eth_getTransactionCount', [address, 'latest'])) >= count, 25)
    const minedAt = performance.now()
    await allConfirmed(stage, count)
    const confirmedAt = performance.now()
    await assertMinedOnce(stage, count)
    return {
      pending_before: pending,
      submitted_before: submitted,
      ready_ms: stage.service.ready_ms,
      mined_after_ms: minedAt - startedAt,
      confirmed_after_ms: confirmedAt - startedAt,
      cpu_ms_per_transaction: (stage.service.cpu_ms() - cpuReadyMs) / count,
      rss_peak_mb: stage.service.rss_peak_mb(),
    }
  } finally {
    await stage.end()
  }
}

async function countByStatus({ client }: Stage) {
  const path = { relayer_id: 'bench' }
  const count = async (status: 'pending' | 'submitted') => {
    const query = { status: [status], per_page: 0 }
    return (await client.get('/api/v1/relayers/{relayer_id}/transactions/', { path, query })).pagination.total_items
  }
  return { pending: await count('pending'), submitted: await count('submitted') }
}

if (import.meta.main) await main()
