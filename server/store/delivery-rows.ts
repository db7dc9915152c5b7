import type { Delivery, DeliveryAttempt, NotificationHealth } from '../../generated/openapi.ts'
import type { Block } from './blocks.ts'

/** The number of attempts in a response: the last ones of a delivery. */
export const max_shown_attempts = 20
export const states: Delivery['status'][] = ['pending', 'delivered', 'failed']

export type Counts = Pick<NotificationHealth, 'pending' | 'failed'>
export type Health = Pick<NotificationHealth, 'disabled_reason' | 'last_success_at' | 'failing_since'>
export type BlockRow = { block: number; oldest: string; newest: string } & Record<Delivery['status'], number>
export type Row = Omit<Delivery, 'attempts' | 'next_attempt_at'> & { row_id: number; next_at: number }

/** `attempts`: oldest first. */
export const show = ({ row_id: _, next_at, ...row }: Row, attempts: DeliveryAttempt[]): Delivery => ({
  ...row,
  next_attempt_at: row.status === 'pending' ? new Date(next_at).toISOString() : null,
  attempts,
})

/** How many deliveries of a block are in one of the states and were created at `since` or later. */
export function countIn(row: BlockRow, wanted: Delivery['status'][], since: string): Block {
  const sum = wanted.reduce((count, state) => count + row[state], 0)
  const isCut = sum > 0 && row.oldest < since
  return { block: row.block, count: row.newest < since ? 0 : isCut ? undefined : sum }
}

export const healthOf = (known: Health, counts: Counts): NotificationHealth => ({
  ...known,
  status: known.disabled_reason === null ? 'enabled' : 'disabled',
  ...counts,
})
