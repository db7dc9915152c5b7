import type { Transaction } from '../../index.ts'
import { exactAmount } from '../data/format.ts'
import { useSymbolOf } from '../data/resources.ts'
import { Figures, wholeAddress } from './values.tsx'

/** Whom a dialog that pays pays, in full, and what. */
export function Receiver({ of: { to, value, relayer_id } }: { of: Pick<Transaction, 'to' | 'value' | 'relayer_id'> }) {
  const symbol = useSymbolOf(relayer_id)
  return (
    <Figures
      isWide
      of={{ To: wholeAddress(to) ?? 'nobody: it creates a contract', Value: exactAmount(value, symbol) }}
    />
  )
}
