import { useQuery } from '@tanstack/react-query'
import {
  type Abi,
  type AbiEvent,
  type AbiFunction,
  decodeEventLog,
  erc20Abi,
  getAbiItem,
  type Hex,
  parseAbi,
  toFunctionSignature,
} from 'viem'
import type { Transaction } from '../../index.ts'
import { Address } from '../components/address.tsx'
import { Loaded } from '../components/feedback.tsx'
import { count, exactAmount } from '../data/format.ts'
import { askNode } from '../data/get.ts'
import { useAbiEntries, useAbiOf, useAddressNames } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { amountPlace, tokenAmount, useToken } from './tokens.ts'

/** The function that a transaction calls, with its arguments by the names of the service's ABI, or those of ERC-20. */
export function Call({ transaction, network }: { transaction: Transaction; network: string | undefined }) {
  const { call, relayer_id } = transaction
  const to = transaction.to ?? ''
  const entries = useAbiEntries(useAbiOf(network, to).abi?.id) ?? []
  const token = useToken(relayer_id, to)
  const name = useAddressNames()(to)?.name ?? 'the token'
  if (!call) return null
  const inputs = inputsOf(entries, call.function)
  const named = call.args.map((value, index) => ({
    name: inputs[index]?.name,
    type: inputs[index]?.type ?? '',
    value,
  }))
  const amountOf = ({ value }: Argument, index: number) =>
    index === amountPlace(call) ? tokenAmount(`${value}`, token, name) : undefined
  return (
    <div>
      <code>{call.function}</code>
      {named.length > 0 && <Arguments all={named} network={network} amountOf={amountOf} />}
    </div>
  )
}

/** Without an ABI: the types that the signature has, where none is a tuple. */
function inputsOf(entries: string[], signature: string): readonly { name?: string | undefined; type: string }[] {
  const found = [...functionsOf(entries), ...erc20Abi.filter(({ type }) => type === 'function')].find(
    (one) => toFunctionSignature(one as AbiFunction) === signature,
  )
  if (found) return found.inputs
  const types = /\(([^()]+)\)$/.exec(signature)?.[1]?.split(',') ?? []
  return types.map((type) => ({ type }))
}

/** An ABI that cannot be read has none. */
function functionsOf(entries: string[]): AbiFunction[] {
  try {
    return parseAbi(entries.filter((entry) => entry.startsWith('function '))) as unknown as AbiFunction[]
  } catch {
    return []
  }
}

const maxShown = 50

interface Log {
  address: string
  topics: [Hex, ...Hex[]]
  data: Hex
  logIndex: Hex
}

/** What the contracts logged, as a node tells it, with the names of the service's ABIs. */
export function Logs({ hash, relayer_id, network }: { hash: string; relayer_id: string; network: string }) {
  const { client } = useSession()
  const body = { method: 'eth_getTransactionReceipt' as const, params: [hash] }
  const logs = useQuery({
    queryKey: ['logs', hash],
    queryFn: async ({ signal }) => (await askNode<{ logs?: Log[] }>(client, relayer_id, body, signal))?.logs ?? [],
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    <>
      <h3>Logs</h3>
      <Loaded query={logs} lines={2}>
        {(all) => (
          <ol className="timeline">
            {all.slice(0, maxShown).map((log) => (
              <li key={log.logIndex}>
                <Decoded log={log} network={network} relayer_id={relayer_id} />
              </li>
            ))}
            {all.length > maxShown && <li className="hint">and {count(all.length - maxShown)} more</li>}
          </ol>
        )}
      </Loaded>
    </>
  )
}

function Decoded({ log, network, relayer_id }: { log: Log; network: string; relayer_id: string }) {
  const event = eventOf(log, useAbiEntries(useAbiOf(network, log.address).abi?.id) ?? [])
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

const maxArgument = 120

interface Argument {
  name: string | undefined
  type: string
  value: unknown
}

interface ArgumentsProps {
  all: Argument[]
  network: string | undefined
  amountOf(argument: Argument, index: number): string | undefined
}

/** The arguments of a call or an event. `amountOf`: the amount of a token that one is. */
const Arguments = ({ all, network, amountOf }: ArgumentsProps) => (
  <dl className="figures wide arguments">
    {all.map((argument, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: arguments have no other identity, and keep their order.
      <div key={index}>
        <dt>
          {argument.name} <code>{argument.type}</code>
        </dt>
        <dd>
          {isAddress(argument.value) ? (
            <Address value={argument.value} network={network} what={argument.name ?? 'Address'} />
          ) : (
            <Value raw={rawOf(argument.value)} amount={amountOf(argument, index)} text={textOf(argument)} />
          )}
        </dd>
      </div>
    ))}
  </dl>
)

/** An amount is set as elsewhere; other values are bytes and numbers of the chain. */
const Value = ({ raw, amount, text }: { raw: string; amount: string | undefined; text: string }) =>
  amount === undefined ? <code title={raw}>{text}</code> : <span title={raw}>{amount}</span>

const isAddress = (value: unknown): value is string => typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value)

const rawOf = (value: unknown): string =>
  typeof value === 'object'
    ? JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `${inner}` : inner))
    : String(value)

function textOf({ type, value }: Argument): string {
  const text = rawOf(value)
  if (/^u?int\d*$/.test(type) && /^-?\d+$/.test(text)) return count(BigInt(text))
  return text.length > maxArgument ? `${text.slice(0, maxArgument)}…` : text
}
