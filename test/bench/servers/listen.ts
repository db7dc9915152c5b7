import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Listens on a free port, says where, and ends on SIGTERM. */
export async function listen(server: Server): Promise<void> {
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.once('SIGTERM', () => process.exit(0))
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
}
