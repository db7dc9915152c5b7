import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Receiver {
  url: string
  /** The bodies that it got. */
  bodies: string[]
  /** What it answers from now on. */
  answer(status: number, text?: string): void
  stop(): Promise<void>
}

/** A webhook endpoint that can be down. */
export async function startReceiver(): Promise<Receiver> {
  const bodies: string[] = []
  let answered = { status: 200, text: '' }
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part) => {
      body += part
    })
    request.on('end', () => {
      bodies.push(body)
      response.writeHead(answered.status).end(answered.text)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    bodies,
    answer(status, text = '') {
      answered = { status, text }
    },
    async stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}
