import { type Command, Option } from 'commander'
import { type DeliveryStatus, deliveryStatusValues } from '../../generated/client.ts'
import { repeated } from './body.ts'
import type { Context } from './context.ts'
import { CommandError } from './exit-codes.ts'
import { collect } from './resources.ts'

const listPath = '/api/v1/notifications/{notification_id}/deliveries'
const columns = ['id', 'event', 'sequence', 'status', 'created_at', 'next_attempt_at', 'last']

/** `deliveries`: list, redeliver. */
export function addDeliveries(program: Command, context: () => Context): void {
  const group = program.command('deliveries').description('webhook deliveries')
  const statuses = new Option('--status <status>', 'only in this state; repeatable').choices(deliveryStatusValues)
  group
    .command('list <notification>')
    .description('list the deliveries of a notification, newest first')
    .addOption(statuses.argParser(repeated))
    .option('--limit <count>', 'at most so many', '20')
    .action(async (notification_id: string, { status = [], limit }: { status?: DeliveryStatus[]; limit: string }) => {
      const { client, print } = context()
      if (!/^\d{1,6}$/.test(limit)) throw new CommandError('--limit must be a number')
      const query = { status, per_page: Math.min(Number(limit), 1_000) }
      const deliveries = await collect(client.all(listPath, { path: { notification_id }, query }), Number(limit))
      if (print.isJson) return print.one(deliveries)
      const withLast = deliveries.map((delivery) => {
        const attempt = delivery.attempts.at(-1)
        return { ...delivery, last: attempt && (attempt.error ?? attempt.status) }
      })
      print.list(withLast, columns)
    })
  group
    .command('redeliver <notification> [delivery]')
    .description('send a delivery again, or with --since all failed ones')
    .option('--since <time>', 'all failed deliveries of events since this time (RFC 3339)')
    .action(async (notification_id: string, delivery_id: string | undefined, { since }: { since?: string }) => {
      const { client, print } = context()
      if ((delivery_id === undefined) === (since === undefined))
        throw new CommandError('Give the id of a delivery, or --since')
      if (delivery_id !== undefined) {
        const path = { notification_id, delivery_id }
        const { data } = await client.post(
          '/api/v1/notifications/{notification_id}/deliveries/{delivery_id}/redeliver',
          { path },
        )
        return print.one(data)
      }
      const input = { path: { notification_id }, body: { since: since as string } }
      print.one((await client.post('/api/v1/notifications/{notification_id}/redeliver', input)).data)
    })
}
