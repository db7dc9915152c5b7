import type { RelayerSpending } from '../../index.ts'
import { type Column, column, countColumn } from '../components/table.tsx'
import { amount, count, exactAmount, fixed } from '../data/format.ts'
import { useSymbols } from '../data/resources.ts'

type Costs = Pick<RelayerSpending, 'network' | 'mined' | 'fees' | 'fees_today' | 'repriced' | 'repricing_fees'>

export function Paid({ wei, network }: { wei: string; network: string }) {
  const symbol = useSymbols()(network)
  return <span title={exactAmount(wei, symbol)}>{fixed(wei, symbol, 6)}</span>
}

const paid = (name: string, member: 'fees' | 'fees_today' | 'repricing_fees'): Column<Costs> => ({
  name,
  isNumber: true,
  by: (its) => [its.network, Number(its[member])],
  cell: (its) => (its[member] === '0' ? '–' : <Paid wei={its[member]} network={its.network} />),
})

/** What relayers or API keys paid; `repricing`: what later versions cost more than the first ones would have. */
export const costColumns = {
  network: column('Network', ({ network }: Costs) => network),
  mined: countColumn('Mined', ({ mined }: Costs) => mined),
  fees: paid('Fees', 'fees'),
  repricing: paid('For repricing', 'repricing_fees'),
  today: paid('Today (UTC)', 'fees_today'),
}

/** One line for each network where something was repriced. */
export function Repricing({ rows, networks }: { rows: Costs[]; networks: string[] }) {
  const symbolOf = useSymbols()
  return networks.map((network) => {
    const all = rows.filter((row) => row.network === network)
    const sum = (name: 'fees' | 'repricing_fees') => all.reduce((total, row) => total + BigInt(row[name]), 0n)
    const counted = (name: 'repriced' | 'mined') => all.reduce((total, row) => total + row[name], 0)
    if (counted('repriced') === 0) return null
    return (
      <p key={network} className="hint">
        Repricing on {network}: {count(counted('repriced'))} of {count(counted('mined'))} transactions got into a block
        at a later price. They paid {amount(`${sum('repricing_fees')}`, symbolOf(network))} (
        {percent(sum('repricing_fees'), sum('fees'))} of the fees) above what their first price would have paid there.
      </p>
    )
  })
}

const percent = (part: bigint, all: bigint) => `${all === 0n ? 0 : Number((part * 1_000n) / all) / 10} %`
