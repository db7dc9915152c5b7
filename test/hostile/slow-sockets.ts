import { connect, type Socket } from 'node:net'

const document = 'GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n'

/** What a slow socket does to be kept for as long as it can be; `over`: which of the service's times ends it. */
export const kinds = {
  silent: { over: 'headers', first: () => '', drip: '' },
  'a header byte a second': { over: 'headers', first: () => 'GET /api/v1/health HTTP/1.1\r\nX-Long: ', drip: 'x' },
  'a body byte a second': {
    over: 'request',
    first: (token: string) => `${signing(token)}Content-Length: 1000\r\n\r\n{"message":"`,
    drip: 'x',
  },
  // The first bytes of a client that believes there is TLS.
  'a TLS hello': { over: 'none', first: () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', drip: '' },
  // Without reading, only a write shows that the other end has closed.
  'documents never read': { over: 'none', first: () => document.repeat(20), drip: document },
  'kept alive': { over: 'idle', first: () => 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n', drip: '' },
  'a second request, slowly': {
    over: 'headers',
    first: () => 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\nGET /api/v1/he',
    drip: 'a',
  },
  'answers never read': { over: 'answer', first: (token: string) => list(token).repeat(10), drip: 'G' },
} as const

/** Those that cost the system a full send buffer each: of many sockets only few. */
const dear: Kind = 'answers never read'
const oneDearIn = 50

export type Kind = keyof typeof kinds
export const names = Object.keys(kinds) as Kind[]
const others = names.filter((name) => name !== dear)

/** The kind of the socket with this number. */
export const kindOf = (index: number): Kind =>
  index % oneDearIn === 0 ? dear : (others[index % others.length] as Kind)

export interface SlowSockets {
  /** The durations of the sockets that the service has closed so far, by kind, in milliseconds. */
  lasted: Record<Kind, number[]>
  /** The number of open sockets. */
  left(): number
  /** Resolves when the service has closed all sockets. */
  done: Promise<void>
  stop(): void
}

/** The tests make this list long. */
const list = (token: string) => `GET /api/v1/networks HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`

const signing = (token: string) =>
  `POST /api/v1/relayers/demo/sign HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`

const atOnce = 200

/** Opens `count` sockets of all kinds, which never close their own end. `drip_ms`: the time between two bytes. */
export async function openSlowSockets(url: string, token: string, count: number, dripMs = 1_000): Promise<SlowSockets> {
  const lasted = Object.fromEntries(names.map((name): [string, number[]] => [name, []])) as SlowSockets['lasted']
  const sockets = new Set<Socket>()
  const done = Promise.withResolvers<void>()
  let opened = 0

  const openOne = (kind: Kind) =>
    new Promise<void>((resolve, reject) => {
      const { hostname, port } = new URL(url)
      const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
      const { first, drip } = kinds[kind]
      let since = 0
      let dripping: NodeJS.Timeout | undefined
      socket.once('connect', () => {
        since = performance.now()
        opened += 1
        sockets.add(socket)
        socket.write(first(token), 'latin1')
        if (drip !== '') dripping = setInterval(() => socket.write(drip), dripMs)
        resolve()
      })
      const cut = () => {
        clearInterval(dripping)
        if (!sockets.delete(socket)) return
        lasted[kind].push(performance.now() - since)
        socket.destroy()
        if (opened === count && sockets.size === 0) done.resolve()
      }
      // This end stays open, so that only a write shows that the service has closed the socket completely.
      if (kind.endsWith('never read')) socket.pause()
      else socket.resume()
      socket.once('end', () => {
        dripping ??= setInterval(() => socket.write('x'), dripMs)
      })
      socket.on('error', (error) => {
        reject(error)
        cut()
      })
      socket.once('close', cut)
    })

  for (let index = 0; index < count; index += atOnce) {
    const some = Math.min(atOnce, count - index)
    await Promise.all(Array.from({ length: some }, (_, at) => openOne(kindOf(index + at))))
  }
  return {
    lasted,
    left: () => sockets.size,
    done: done.promise,
    stop: () => sockets.forEach((socket) => void socket.destroy()),
  }
}
