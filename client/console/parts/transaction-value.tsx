import type { Transaction } from '../../index.ts'
import { exactAmount, fixed, short, shortCount, wide } from '../data/format.ts'
import type { Named } from '../data/names.ts'
import { amountPlace, type Token, tokenAmount, useToken } from '../data/tokens.ts'

/** After the point, in the column of values. */
const places = 6

export type Names = (address: string) => Named | undefined

/** What it sends, in coins or in the token that it calls. */
export function Value({ its, symbol, names }: { its: Transaction; symbol: string; names: Names }) {
  const units = its.call?.args[amountPlace(its.call)]
  if (its.value !== '0')
    return (
      <span title={exactAmount(its.value, symbol)}>
        <Amount units={its.value} symbol={symbol} decimals={18} />
      </span>
    )
  if (its.to === null || typeof units !== 'string') return '–'
  return <TokenValue units={units} relayer_id={its.relayer_id} token={its.to} name={receiverOf(its.to, names)} />
}

function TokenValue({
  units,
  relayer_id,
  token,
  name,
}: {
  units: string
  relayer_id: string
  token: string
  name: string
}) {
  const its = useToken(relayer_id, token)
  const exact = tokenAmount(units, its, name)
  return (
    <span title={exact}>
      {its ? <Amount units={units} {...its} /> : `${shortCount(BigInt(units))} units of ${name}`}
    </span>
  )
}

/** All digits before the point where there is room. */
function Amount({ units, symbol, decimals }: { units: string } & Token) {
  const [all, few] = [wide(units, symbol, places, decimals), fixed(units, symbol, places, decimals)]
  if (all === few) return few
  return (
    <>
      <span className="roomy">{all}</span>
      <span className="tight">{few}</span>
    </>
  )
}

export const receiverOf = (to: string, names: Names) => names(to)?.name ?? short(to)
