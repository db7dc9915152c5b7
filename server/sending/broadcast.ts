import type { Attempt, Move, TransactionRow } from '../store/rows.ts'
import type { Reach, SendingParts } from './parts.ts'

export interface Broadcast {
  row: TransactionRow
  attempt: Pick<Attempt, 'number' | 'hash' | 'raw'> & Partial<Pick<Attempt, 'taken_at'>>
}

export interface BroadcastResult {
  moves: Move[]
  /** What can never be sent, and why. */
  hopeless: { row: TransactionRow; reason: string }[]
  /** Some node, or all, did not take some of it: try again later. */
  again: boolean
  /** A nonce was called used: look at the chain now. */
  look: boolean
}

/** What a node's answer to signed bytes means for their transaction. */
type Verdict = 'taken' | 'used' | 'hopeless' | 'contested' | 'cheap' | 'later'

const verdictOf: Record<string, Verdict> = {
  already_known: 'taken',
  nonce_too_low: 'used',
  replacement_underpriced: 'contested',
  underpriced: 'cheap',
  gas_limit_too_low: 'hopeless',
  gas_limit_too_high: 'hopeless',
  rejected: 'hopeless',
}

/** How soon a price is raised that a node finds too low to take another transaction's place. */
const contested_ms = 5_000

const not_taken = 'A node does not take it yet'

/** A batch's worth: a node that gets several batches at once may see later nonces first. */
const max_at_once = 100

type BroadcastParts = Pick<SendingParts, 'kindOf' | 'now'>

/** Hands signed, durable bytes to a node, in the order of their nonces. */
export async function broadcast(
  { kindOf, now }: BroadcastParts,
  chain: Reach['chain'],
  wanted: Broadcast[],
): Promise<BroadcastResult> {
  const result: BroadcastResult = { moves: [], hopeless: [], again: false, look: false }
  const errors: (Error | undefined)[] = []
  for (let from = 0; from < wanted.length; from += max_at_once) {
    errors.push(...(await chain.send(wanted.slice(from, from + max_at_once).map(({ attempt }) => attempt.raw))))
  }
  const sent_at = new Date(now()).toISOString()

  for (const [index, { row, attempt }] of wanted.entries()) {
    const error = errors[index]
    const move = (set: Move['set'], taken: number[] = []) =>
      result.moves.push({ key: row.key, revision: row.revision, set, taken })
    // Why a transaction was withdrawn is told to the end, whatever becomes of the withdrawal meanwhile.
    const told = (status_reason: string | null) => (row.intent === 'send' ? { status_reason } : {})
    const taken = () => {
      const numbers = attempt.taken_at ? [] : [attempt.number]
      if (row.status === 'sent') move({ status: 'submitted', sent_at: row.sent_at ?? sent_at, ...told(null) }, numbers)
      else if (row.status_reason?.startsWith(not_taken)) move(told(null), numbers)
      else if (numbers.length > 0) move({}, numbers)
    }
    const wait = (reason: string) => {
      result.again = true
      if (row.intent === 'send' && row.status_reason !== reason) move({ status_reason: reason })
    }

    if (!error) {
      taken()
      continue
    }
    switch (verdictOf[kindOf(error) ?? ''] ?? 'later') {
      case 'taken':
        taken()
        break
      case 'used':
        result.look = true
        result.again = true
        break
      case 'contested':
        // Said of any other bytes with our nonce, and by some nodes of our own: only our own hash can tell.
        if (await chain.isKnown(attempt.hash).catch(() => false)) taken()
        else {
          result.again = true
          // Not at once: against somebody else's transaction the price would climb by a tenth with every look.
          const reprice_at = Math.min(row.reprice_at, now() + contested_ms)
          move({ reprice_at, ...told('A node has another transaction with this nonce; a higher price is tried') })
        }
        break
      case 'cheap':
        result.again = true
        if (row.status === 'sent') move({ reprice_at: 0, ...told('Waits: the price is below what the chain asks') })
        break
      case 'hopeless':
        result.hopeless.push({ row, reason: `A node refused it: ${error.message}`.slice(0, 1_000) })
        break
      case 'later':
        if (kindOf(error) === 'unreachable') result.again = true
        else wait(`${not_taken}: ${error.message}`.slice(0, 1_000))
        break
    }
  }
  return result
}
