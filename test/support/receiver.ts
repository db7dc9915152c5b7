import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { WebhookEvent } from '../../generated/openapi.ts'
import { listen } from './listen.ts'

export interface Delivered {
  headers: IncomingHttpHeaders
  body: string
  event: WebhookEvent
}

export interface Receiver {
  url: string
  /** All deliveries, in order, whatever the response was. */
  got: Delivered[]
}

/** The target of a webhook. `answer` responds to each delivery; by default, the response is 204. */
export async function startReceiver(
  answer: (delivered: Delivered, response: ServerResponse) => void = () => undefined,
): Promise<Receiver> {
  const got: Delivered[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      const delivered = { headers: request.headers, body, event: JSON.parse(body) }
      got.push(delivered)
      answer(delivered, response)
      if (!response.writableEnded && !response.headersSent && response.listenerCount('hold') === 0) {
        response.writeHead(204).end()
      }
    })
  })
  return { url: `${await listen(server)}/hook`, got }
}

/** Leaves a delivery without an answer, for ever. */
export const hold = (response: ServerResponse) => void response.on('hold', () => undefined)
