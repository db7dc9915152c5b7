import { createFaultyKeys, type FaultyKeys, type KeyFaults } from '../support/key-faults.ts'
import { type Listener, listen } from '../support/listener.ts'

/** A request to a key service, and its answer. */
export interface Exchange {
  method: string
  path: string
  headers: Record<string, string | string[] | undefined>
  body: string
  answer: string
}

export interface FrontOptions {
  /** The answer to a request that is throttled, in the key service's own form. */
  throttled: { status: number; body: object }
  /** The answer with another signature or key. */
  spoil(exchange: Exchange, signature: KeyFaults['signature']): string
}

const ownHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding'])

/** Forwards requests to the key service at `target`, and misbehaves in its place. */
export async function startFront(
  target: string,
  { throttled, spoil }: FrontOptions,
): Promise<Pick<FaultyKeys, 'faults'> & Listener> {
  const faulty = createFaultyKeys()
  const listener = await listen(async (request, response) => {
    try {
      const { method = '', url: path = '', headers } = request
      const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString()
      if (await faulty.enter(path)) {
        return response
          .writeHead(throttled.status, { 'Content-Type': 'application/json' })
          .end(JSON.stringify(throttled.body))
      }
      const heard = await fetch(`${target}${path}`, {
        method,
        headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
          ownHeaders.has(name) || value === undefined ? [] : [[name, `${value}`]],
        ),
        ...(body !== '' && { body }),
      })
      const answer = await heard.text()
      const { signature } = faulty.faults
      const said = heard.ok ? spoil({ method, path, headers, body, answer }, signature) : answer
      const kept = ['content-type', 'x-amzn-requestid'].flatMap((name) => {
        const value = heard.headers.get(name)
        return value === null ? [] : [[name, value]]
      })
      response.writeHead(heard.status, Object.fromEntries(kept)).end(said)
    } catch {
      response.socket?.resetAndDestroy()
    }
  })
  return { faults: faulty.faults, ...listener }
}
