import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

const file = (name: string) => readFileSync(join(import.meta.dirname, 'tls', name), 'utf8')

/** A self-signed certificate for localhost and 127.0.0.1, and its private key. */
export const tls = { cert: file('certificate.pem'), key: file('key.pem') }

export interface Listener {
  url: string
  /** Ends all connections and accepts none. */
  stop(): Promise<void>
  /** Listens again on the same port. */
  start(): Promise<void>
}

/** `secure`: the options of HTTPS; undefined: HTTP. */
export async function listen(handler: RequestListener, secure?: object): Promise<Listener> {
  const server = secure ? createHttpsServer({ ...tls, ...secure }, handler) : createHttpServer(handler)
  let port = 0
  const start = () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  await start()
  port = (server.address() as AddressInfo).port
  return {
    url: `${secure ? 'https' : 'http'}://127.0.0.1:${port}`,
    start,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
