import { setTimeout as pause } from 'node:timers/promises'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { startAnvil } from '../support/anvil.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { makeRelayers } from './callers.ts'
import { startHook } from './hook.ts'
import { token } from './member.ts'
import { startStage } from './stage.ts'

export interface Latency {
  /** Milliseconds from the request, and from its answer, to the broadcast by another server, in ascending order. */
  from_request_ms: number[]
  from_answer_ms: number[]
}

const lookMs = 1
const restMs = 200
const patienceMs = 10_000

/** Sends transactions, one at a time, through servers that do not have the relayer's lease. */
export async function measureLatency(servers: number, count: number): Promise<Latency> {
  const chain = await startAnvil({})
  const proxy = await startFaultProxy(chain.url)
  const hook = await startHook()
  const stage = await startStage({ servers })
  try {
    const clients = stage.members.map(({ url }) => createRelayerClient({ baseUrl: url, token, fetch: asOnlyWriter }))
    const [relayer] = await makeRelayers(clients[0] as RelayerClient, proxy.url, hook.url, 1)
    if (!relayer) throw new Error('There is no relayer')
    await chain.setBalance(relayer.address, 10n ** 20n)
    const send = (client: RelayerClient, value: string) =>
      client.post('/api/v1/relayers/{relayer_id}/transactions', {
        path: { relayer_id: relayer.id },
        body: { to: relayer.address, value },
      })
    await send(clients[0] as RelayerClient, '1')
    const latency: Latency = { from_request_ms: [], from_answer_ms: [] }
    for (let sent = 0; sent < count; sent += 1) {
      await pause(restMs)
      const [owner] = await stage.rows<{ name: string }>(
        "SELECT name FROM work_leases JOIN servers ON servers.row_id = server_row_id WHERE kind = 'sender'",
      )
      const others = clients.filter((_, index) => !owner?.name.endsWith(` ${stage.members[index]?.pid()}`))
      const before = proxy.broadcast().length
      const began = performance.now()
      const answered = send(others[sent % others.length] as RelayerClient, `${sent + 2}`).then(() => performance.now())
      while (proxy.broadcast().length === before) {
        if (performance.now() - began > patienceMs) throw new Error('A transaction was not broadcast')
        await pause(lookMs)
      }
      const ended = performance.now()
      latency.from_request_ms.push(ended - began)
      latency.from_answer_ms.push(ended - (await answered))
    }
    for (const times of Object.values(latency)) times.sort((a: number, b: number) => a - b)
    return latency
  } finally {
    await stage.stop()
    await Promise.all([proxy.stop(), hook.stop()])
    await chain.stop()
  }
}
