import { exactAmount, fixed } from '../data/format.ts'
import { useStatus, useSymbols } from '../data/overview.ts'

/** What a relayer has, as the service read it from the chain. */
export function Balance({ relayer_id, network }: { relayer_id: string; network: string }) {
  const status = useStatus(relayer_id)
  const symbol = useSymbols()(network)
  if (!status.data) return status.error ? <span title="The status could not be read">unknown</span> : '…'
  const { balance } = status.data
  if (balance === null) return 'unknown'
  return (
    <span className={balance === '0' ? 'low' : undefined} title={exactAmount(balance, symbol)}>
      {fixed(balance, symbol)}
    </span>
  )
}
