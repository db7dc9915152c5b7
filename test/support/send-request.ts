import { type Agent, type IncomingHttpHeaders, request as open } from 'node:http'
import type { TestRequest } from './request-arbitrary.ts'

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

/** Sends the request unchanged. Resolves to the response, or to the first data of an event stream. */
export function sendRequest(
  url: string,
  agent: Agent,
  { method, target, headers: given, body }: TestRequest,
): Promise<Answer> {
  // Node's client sends the body of a GET without Content-Length, and the server would parse it as the next request.
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
  const headers = { ...given, ...length }
  return new Promise((resolve, reject) => {
    const request = open(url, { agent, method, path: target, headers }, (response) => {
      const chunks: Buffer[] = []
      const { statusCode: status = 0, headers } = response
      const done = () => resolve({ status, headers, text: Buffer.concat(chunks).toString('utf8') })
      response.on('data', (chunk) => {
        chunks.push(chunk)
        // An event stream does not end.
        if (isStream({ headers })) {
          done()
          request.destroy()
        }
      })
      response.on('error', reject)
      response.on('end', done)
    })
    request.on('error', reject)
    request.end(body)
  })
}

export const isStream = ({ headers }: Pick<Answer, 'headers'>): boolean =>
  headers['content-type']?.startsWith('text/event-stream') === true
