import { useState } from 'react'
import { Link } from 'wouter'
import type { TransactionSuggestion } from '../../index.ts'
import { useGet } from '../data/get.ts'
import { SuggestedAction } from './suggested-action.tsx'

const readMs = 30_000

/**
 * The first step that the service suggests for a transaction that waits, where the page of another thing names it; without one, its page `to` says
 * why it waits.
 */
export function WaitingRemedy({ transaction_id, to }: { transaction_id: string; to: string }) {
  const path = { transaction_id }
  const first = useGet('/api/v1/transactions/{transaction_id}/explanation', { path }, { pollMs: readMs }).data
    ?.suggestions[0]
  // An open dialog stays when the service suggests nothing more meanwhile.
  const [openedWith, setOpenedWith] = useState<TransactionSuggestion>()
  const shown = openedWith ?? first
  const why = (
    <Link to={to} className="button">
      See why
    </Link>
  )
  if (shown === undefined) return why
  const whileOpen = { opened: () => setOpenedWith(shown), closed: () => setOpenedWith(undefined) }
  return <SuggestedAction suggestion={shown} whileOpen={whileOpen} otherwise={why} />
}
