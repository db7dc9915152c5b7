import { count } from '../data/format.ts'
import { useAbis, useAddressNames, useRelayers } from '../data/resources.ts'
import { tokenAmount, useToken } from './tokens.ts'

/**
 * An amount of a token, in its decimals where the service has its ABI and can ask a node, else in its smallest unit. `network`: absent: the one
 * where the service knows the token.
 */
export function TokenAmount({ token, units, network }: { token: string; units: string; network?: string }) {
  const place = useTokenNetwork(token)
  const relayer = useRelayers().data?.find((one) => one.network === (network ?? place))
  const known = useToken(relayer?.id ?? '', token)
  const name = useAddressNames()(token)?.name
  return known || name ? tokenAmount(units, known, name ?? '') : `${count(BigInt(units))} base units`
}

/** The network on which the service knows a token; undefined: none, or several. */
export function useTokenNetwork(token: string): string | undefined {
  const known = useAbis().data?.filter(({ address }) => address.toLowerCase() === token.toLowerCase()) ?? []
  return known.length === 1 ? known[0]?.network : undefined
}
