import type { Command } from 'commander'
import { type DeliveryStatus, deliveryStatusValues } from '../../generated/client.ts'
import { collect } from './collect.ts'
import type { Context } from './context.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { addList, type ListOptions, listQuery } from './list-options.ts'

interface Which {
  since?: string
  pending?: true
}

const listPath = '/api/v1/notifications/{notification_id}/deliveries'
const columns = ['id', 'event', 'sequence', 'relayer_id', 'nonce', 'status', 'created_at', 'next_attempt_at', 'last']

/** `deliveries`: list, test, redeliver. */
export function addDeliveries(program: Command, context: () => Context): void {
  const group = program.command('deliveries').description('webhook deliveries')
  addList(
    group.command('list <notification>').description('list the deliveries of a notification, newest first'),
    deliveryStatusValues,
  ).action(async (notificationId: string, options: ListOptions<DeliveryStatus>) => {
    const { client, print } = context()
    const query = listQuery(options)
    const deliveries = await collect(
      client.all(listPath, { path: { notification_id: notificationId }, query }),
      Number(options.limit),
    )
    if (print.isJson) return print.one(deliveries)
    const withLast = deliveries.map((delivery) => {
      const attempt = delivery.attempts.at(-1)
      return { ...delivery, last: attempt && (attempt.error_message ?? attempt.http_status) }
    })
    print.list(withLast, columns)
  })
  group
    .command('test <notification>')
    .description('send a test event now, and print the attempt; exit code 7 when it fails')
    .action(async (notificationId: string) => {
      const { client, print } = context()
      const attempt = await client.notifications.test(notificationId)
      print.one(attempt)
      const { http_status: status } = attempt
      if (status === null || status < 200 || status > 299) process.exitCode = exitCodes.not_confirmed
    })
  group
    .command('redeliver <notification> [delivery]')
    .description('send a delivery again, or all that failed or wait')
    .option('--since <time>', 'all failed deliveries of events since this time (RFC 3339)')
    .option('--pending', 'all deliveries that wait for their next attempt')
    .action(async (notificationId: string, deliveryId: string | undefined, { since, pending }: Which) => {
      const { client, print } = context()
      const [body, ...others] = [
        ...(deliveryId === undefined ? [] : [{ delivery_id: deliveryId }]),
        ...(since === undefined ? [] : [{ status: 'failed', since } as const]),
        ...(pending ? [{ status: 'pending' } as const] : []),
      ]
      if (body === undefined || others.length > 0)
        throw new CommandError('Give one of these: the id of a delivery, --since, --pending')
      print.one(await client.notifications.redeliverDeliveries(notificationId, body))
    })
}
