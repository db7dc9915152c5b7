import { useQuery } from '@tanstack/react-query'
import { type Abi, type AbiEvent, decodeEventLog, getAbiItem, type Hex, parseAbi } from 'viem'
import { count, exactAmount } from '../data/format.ts'
import { useAbi, useAbis } from '../data/names.ts'
import { useSession } from '../data/session.tsx'
import { useToken } from '../data/tokens.ts'
import { type Argument, Arguments } from './arguments.tsx'
import { Loaded } from './feedback.tsx'
import { Address } from './links.tsx'

const max_shown = 50

interface Log {
  address: string
  topics: [Hex, ...Hex[]]
  data: Hex
  logIndex: Hex
}

/** What the contracts logged, as a node tells it, with the names of the service's ABIs. */
export function Logs({ hash, relayer_id, network }: { hash: string; relayer_id: string; network: string }) {
  const { client } = useSession()
  const logs = useQuery({
    queryKey: ['logs', hash],
    queryFn: async ({ signal }) => {
      const { data } = await client.post('/api/v1/relayers/{relayer_id}/rpc', {
        path: { relayer_id },
        body: { method: 'eth_getTransactionReceipt', params: [hash] },
        signal,
      })
      if (data.error) throw new Error(data.error.message)
      return ((data.result as { logs?: Log[] } | null)?.logs ?? []) as Log[]
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <>
      <h3>Logs</h3>
      <Loaded query={logs} lines={2}>
        {(all) => (
          <ol className="timeline">
            {all.slice(0, max_shown).map((log) => (
              <li key={log.logIndex}>
                <Decoded log={log} network={network} relayer_id={relayer_id} />
              </li>
            ))}
            {all.length > max_shown && <li className="hint">and {count(all.length - max_shown)} more</li>}
          </ol>
        )}
      </Loaded>
    </>
  )
}

function Decoded({ log, network, relayer_id }: { log: Log; network: string; relayer_id: string }) {
  const its = useAbis().data?.find(
    (one) => one.network === network && one.address.toLowerCase() === log.address.toLowerCase(),
  )
  const abi = useAbi(its?.id)
  const event = eventOf(log, abi.data ?? [])
  const token = useToken(relayer_id, log.address)
  const isAmount = event?.name === 'Transfer' || event?.name === 'Approval'
  const amountOf = ({ value }: Argument) =>
    typeof value === 'bigint' && isAmount && token ? exactAmount(`${value}`, token.symbol, token.decimals) : undefined
  return (
    <>
      {event ? <strong>{event.name}</strong> : <code>{log.topics[0] ?? 'no topic'}</code>}{' '}
      <Address value={log.address} network={network} what="Contract" />
      {event ? (
        <Arguments all={event.args} network={network} amountOf={amountOf} />
      ) : (
        <div className="hint">Not decoded: the service has no ABI of this contract with this event.</div>
      )}
    </>
  )
}

/** The event by the ABI of its contract; undefined when there is none. */
function eventOf(log: Log, entries: string[]): { name: string; args: Argument[] } | undefined {
  try {
    const abi = parseAbi(entries.filter((entry) => entry.startsWith('event '))) as Abi
    const { eventName = '', args } = decodeEventLog({ abi, topics: log.topics, data: log.data })
    const { inputs } = getAbiItem({ abi, name: log.topics[0] }) as AbiEvent
    // Without a name for each, they are a list.
    const values = (args ?? {}) as Record<string, unknown>
    const argumentAt = (name: string | undefined, index: number) => values[Array.isArray(args) ? index : (name ?? '')]
    return {
      name: eventName,
      args: inputs.map(({ name, type }, index) => ({ name, type, value: argumentAt(name, index) })),
    }
  } catch {
    return undefined
  }
}
