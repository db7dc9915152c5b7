import { count } from '../data/format.ts'
import { Address } from './links.tsx'

const max_argument = 120

export interface Argument {
  name: string | undefined
  type: string
  value: unknown
}

/** The arguments of a call or an event. `amountOf`: the amount of a token that one is. */
export const Arguments = ({
  all,
  network,
  amountOf,
}: {
  all: Argument[]
  network: string | undefined
  amountOf(argument: Argument, index: number): string | undefined
}) => (
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
            <code title={rawOf(argument.value)}>{amountOf(argument, index) ?? textOf(argument)}</code>
          )}
        </dd>
      </div>
    ))}
  </dl>
)

const isAddress = (value: unknown): value is string => typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value)

const rawOf = (value: unknown): string =>
  typeof value === 'object'
    ? JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `${inner}` : inner))
    : String(value)

function textOf({ type, value }: Argument): string {
  const text = rawOf(value)
  if (/^u?int\d*$/.test(type) && /^-?\d+$/.test(text)) return count(BigInt(text))
  return text.length > max_argument ? `${text.slice(0, max_argument)}…` : text
}
