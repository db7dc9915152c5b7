import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A webhook that takes everything. */
export interface Hook {
  url: string
  /** The ids of all received events, in order: at least once each. */
  heard(): string[]
  stop(): Promise<void>
}

export async function startHook(): Promise<Hook> {
  const heard: string[] = []
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      heard.push(String(request.headers['webhook-id']))
      response.writeHead(204).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    heard: () => heard,
    async stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}
