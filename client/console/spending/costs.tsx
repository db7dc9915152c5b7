import type { RelayerSpending } from '../../index.ts'
import { type Column, countColumn, networkColumn } from '../components/table.tsx'
import { Paid } from '../components/values.tsx'
import { amount, count } from '../data/format.ts'
import { useNetworks, useSymbols } from '../data/resources.ts'

type Costs = Pick<RelayerSpending, 'network' | 'mined' | 'fees' | 'fees_today' | 'repriced' | 'repricing_fees'> & {
  failed?: number
}

type Member = 'fees' | 'fees_today' | 'repricing_fees'

export const sumOf = (rows: Costs[], member: Member): bigint => rows.reduce((sum, row) => sum + BigInt(row[member]), 0n)

const paid = (name: string, member: Member): Column<Costs> => {
  const show = (rows: Costs[]) => {
    const [{ network } = { network: '' }] = rows
    const sum = sumOf(rows, member)
    return <Paid wei={`${sum}`} network={network} />
  }
  return {
    name,
    isNumber: true,
    by: (its) => [its.network, Number(its[member])],
    cell: (its) => show([its]),
    sum: show,
  }
}

const counted = (name: string, member: 'mined' | 'failed'): Column<Costs> => ({
  ...countColumn(name, (its: Costs) => its[member] ?? 0),
  sum: (rows) => count(rows.reduce((sum, row) => sum + (row[member] ?? 0), 0)),
})

/**
 * The sum of each currency, in which rows of several networks may be. Coins of test networks, or without a name, are of one network only. `what` the
 * rows are.
 */
export function useSums<Row extends Costs>(
  rows: Row[],
  what: string,
  idOf: (row: Row) => string,
): { name: string; of: Row[] }[] {
  const networks = useNetworks().data ?? []
  const symbolOf = (network: string) => networks.find(({ name }) => name === network)?.symbol ?? 'coins'
  const groups = Map.groupBy(rows, ({ network }) => {
    const its = networks.find(({ name }) => name === network)
    return its?.symbol && !its.is_testnet ? its.symbol : network
  })
  const sums = [...groups].map(([key, of]) => ({ key, of, symbol: symbolOf(of[0]?.network ?? '') }))
  return sums.flatMap(({ key, of, symbol }) => {
    if (of.length < 2) return []
    const isOnly = sums.filter((one) => one.symbol === symbol).length === 1
    return [
      {
        name: `All ${count(new Set(of.map(idOf)).size)} ${what} in ${symbol}${isOnly || key === symbol ? '' : ` on ${key}`}`,
        of,
      },
    ]
  })
}

/** What relayers or API keys paid; `repricing`: what later versions cost more than the first ones would have. */
export const costColumns = {
  network: networkColumn<Costs>(),
  mined: counted('Mined', 'mined'),
  failed: counted('Failed', 'failed'),
  fees: paid('Fees', 'fees'),
  repricing: paid('For repricing', 'repricing_fees'),
  today: paid('Today (UTC)', 'fees_today'),
}

/** One line for each network where something was repriced. */
export function Repricing({ rows, networks }: { rows: Costs[]; networks: string[] }) {
  const symbolOf = useSymbols()
  return networks.map((network) => {
    const all = rows.filter((row) => row.network === network)
    const added = sumOf(all, 'repricing_fees')
    const total = (name: 'repriced' | 'mined') => all.reduce((sum, row) => sum + row[name], 0)
    if (total('repriced') === 0) return null
    return (
      <p key={network} className="hint">
        Repricing on {network}: {count(total('repriced'))} of {count(total('mined'))} transactions were mined at a later
        price. They paid {amount(`${added}`, symbolOf(network))} ({percent(added, sumOf(all, 'fees'))} of the fees) more
        than at their first price.
      </p>
    )
  })
}

const percent = (part: bigint, all: bigint) => `${all === 0n ? 0 : Number((part * 1_000n) / all) / 10} %`
