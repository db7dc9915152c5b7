import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A proxy between one server and PostgreSQL: a socket in a separate folder, which forwards to the socket in the URL. */
export interface DatabaseProxy {
  /** The URL of the same database, through the proxy. */
  url: string
  /** `open`: forwards. `closed`: all connections end and new ones are refused. `silent`: no data passes, and connections stay open. */
  set(state: 'open' | 'closed' | 'silent'): Promise<void>
  /** From now on new connections lead to another server, as when a virtual address moves. Those to the former one end. */
  pointTo(databaseUrl: string): void
  /** The next answer to a COMMIT is lost with its connection; with a text, that of the next database transaction which contains it. */
  loseCommit(text?: string): void
  /** After that many more messages of PostgreSQL, all connections end and new ones are refused. */
  closeAfter(messages: number): void
  /** How many connections were opened so far. */
  opened(): number
  stop(): Promise<void>
}

const socketName = '.s.PGSQL.5432'
const socketOf = (databaseUrl: string): string =>
  join(new URL(databaseUrl).searchParams.get('host') as string, socketName)

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const url = new URL(databaseUrl)
  let target = socketOf(databaseUrl)
  const folder = mkdtempSync(join(tmpdir(), 'relayer-proxy-'))
  url.searchParams.set('host', folder)
  const pairs = new Set<[Socket, Socket]>()
  let isSilent = false
  let opened = 0
  let lost: string | undefined
  let messagesLeft = Number.POSITIVE_INFINITY

  const server = createServer((near) => {
    opened += 1
    const far = createConnection(target)
    const pair: [Socket, Socket] = [near, far]
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    for (const socket of pair) socket.on('error', end).on('close', end)
    let contains = false
    near.on('data', (message: Buffer) => {
      contains ||= lost !== undefined && message.includes(lost)
      if (!message.includes('COMMIT')) return
      if (contains) {
        lost = undefined
        far.unpipe(near).once('data', end).resume()
      }
      contains = false
    })
    far.on('data', () => {
      messagesLeft -= 1
      if (messagesLeft === 0) void close()
    })
    near.pipe(far)
    far.pipe(near)
    if (isSilent) silence(pair)
  })

  const silence = ([near, far]: [Socket, Socket]) => {
    near.unpipe(far).pause()
    far.unpipe(near).pause()
  }
  const resume = ([near, far]: [Socket, Socket]) => {
    near.pipe(far)
    far.pipe(near)
  }

  async function listen(): Promise<void> {
    if (server.listening) return
    server.listen(join(folder, socketName))
    await once(server, 'listening')
  }

  async function close(): Promise<void> {
    const closed = server.listening ? once(server, 'close') : undefined
    if (closed) server.close()
    endAll()
    await closed
  }

  function endAll(): void {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  }

  await listen()
  return {
    url: url.toString(),
    async set(state) {
      const wasSilent = isSilent
      isSilent = state === 'silent'
      if (state === 'closed') return close()
      // Resuming a pair twice would forward all data twice.
      if (isSilent !== wasSilent) for (const pair of pairs) (isSilent ? silence : resume)(pair)
      await listen()
    },
    pointTo(itsUrl) {
      target = socketOf(itsUrl)
      endAll()
    },
    loseCommit(text = '') {
      lost = text
    },
    closeAfter(messages) {
      messagesLeft = messages
    },
    opened: () => opened,
    async stop() {
      await close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
