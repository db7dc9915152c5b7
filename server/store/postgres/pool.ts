import { Socket } from 'node:net'
import pg from 'pg'
import { DatabaseDown, StoreError } from '../queries/database.ts'
import { isUnavailable } from './failures.ts'

export interface PoolSettings {
  url: string
  max_connections: number
  /** After this long without an answer, the database counts as down. */
  timeout_ms: number
}

/** The time to connect, unless an answer may take longer; then the database counts as down. */
const connectMs = 1_000
/** The same while a server starts, when there is much else to do. */
export const startMs = 10_000
/** A caller waits this long while all connections are in use. */
const turnMs = 5_000
/** A statement that takes longer is ended by the server. */
const statementMs = 10_000
/** An answer that takes longer has been lost: the connection is closed. */
const answerMs = 12_000
/** The server ends a connection whose other end does not answer for about 10 seconds. */
const keepalive = '-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3'

/**
 * A prepared statement keeps its plan while its tables grow from empty to millions of rows, until PostgreSQL analyses them. So the plan
 * uses the indexes from the beginning. Where there is no index, the plan seems so expensive that PostgreSQL would compile the statement
 * (JIT) for several milliseconds each time: a read of one row took 6 ms.
 */
const plans = '-c enable_seqscan=off -c jit=off'

const int8 = 20
const numeric = 1700

/** The types of PostgreSQL whose values JavaScript reads as numbers. Throws for a value that a number cannot hold. */
function typeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === int8 || oid === numeric) return toNumber
  return pg.types.getTypeParser(oid, format)
}

function toNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error('A number of the database is not a safe integer')
  return value
}

type ClientSettings = Pick<PoolSettings, 'url'> & Partial<Pick<PoolSettings, 'timeout_ms'>>

function clientConfig({ url, timeout_ms = connectMs }: ClientSettings): pg.ClientConfig {
  return {
    // Without it, pg reads `sslmode` in another way than PostgreSQL's manual.
    connectionString: `${url}${url.includes('?') ? '&' : '?'}uselibpqcompat=true`,
    application_name: 'evm-relayer-service',
    connectionTimeoutMillis: Math.max(connectMs, timeout_ms),
    statement_timeout: statementMs,
    query_timeout: answerMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 4_000,
    options: `${keepalive} ${plans}`,
    types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
  }
}

/**
 * Sends what is written in one turn together: statements that do not wait for each other wake PostgreSQL once. (Over TLS, each is sent
 * by itself.)
 */
class GatheringSocket extends Socket {
  #isGathering = false

  override write(chunk: string | Uint8Array, ...others: never[]): boolean {
    if (!this.#isGathering) {
      this.#isGathering = true
      this.cork()
      process.nextTick(() => {
        this.#isGathering = false
        this.uncork()
      })
    }
    return super.write(chunk, ...others)
  }
}

/** A client whose connection can be closed at once, also while it waits for an answer. */
export class Client extends pg.Client {
  readonly #socket: Socket

  constructor(config: pg.ClientConfig = {}) {
    const socket = new GatheringSocket()
    super({ ...config, stream: () => socket })
    this.#socket = socket
    // The statement under way fails. Without a listener, the event would end the process.
    this.on('error', () => undefined)
  }

  cut(): void {
    this.#socket.destroy()
  }
}

interface Pool extends pg.Pool {
  /** Closes all connections at once: the statements under way fail, and the pool opens new ones. */
  cut(): void
}

export function openPool(settings: PoolSettings): Pool {
  const its = clientConfig(settings)
  const pool = new pg.Pool({
    ...its,
    // Statements that do not depend on each other's results are sent together.
    pipeline: true,
    max: settings.max_connections,
    connectionTimeoutMillis: turnMs,
    // A pool gives its connections the time of a caller's turn, which is longer.
    Client: class extends Client {
      constructor(config: pg.ClientConfig = {}) {
        super({ ...config, connectionTimeoutMillis: its.connectionTimeoutMillis })
      }
    },
  })
  const clients = new Set<pg.ClientBase>()
  // A connection that ends while it is idle is replaced by the next caller, who gets an error if that fails.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => clients.add(client))
  pool.on('remove', (client) => clients.delete(client))
  return Object.assign(pool, {
    cut() {
      for (const client of clients) if (client instanceof Client) client.cut()
    },
  })
}

/** A pooler drops the settings of a session, and may give each statement another one. */
export const pooled = (): StoreError =>
  new StoreError(
    'DATABASE_URL leads to a connection pooler (such as PgBouncer), which does not keep the settings of a session: ' +
      'connect to PostgreSQL itself',
  )

/** What the codes of Node and of PostgreSQL say about a URL. */
const causes: Record<string, string> = {
  ECONNREFUSED: 'nothing listens at the host and port of its URL',
  ENOTFOUND: 'the host of its URL is not known',
  ENOENT: 'there is no socket in the folder that its URL names',
  '28P01': 'it does not accept the user and password of its URL',
  '28000': 'it does not accept the user of its URL, or not from here',
  '3D000': 'it has no database with the name in its URL: create it',
}

/** Opens a connection of its own. `other`: in place of these settings. Throws StoreError, whose message has nothing of the URL. */
export async function connectClient(settings: ClientSettings, other: pg.ClientConfig = {}): Promise<Client> {
  try {
    const client = new Client({ ...clientConfig(settings), ...other })
    await client.connect()
    return client
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (/unsupported startup parameter/.test(message)) throw pooled()
    // The messages of the network name the address, those of PostgreSQL the user or the database.
    const cause = causes[code ?? '']
    const reason = `PostgreSQL cannot be reached (${code ?? message})${cause === undefined ? '' : `: ${cause}`}`
    throw isUnavailable(error) ? new DatabaseDown(reason) : new StoreError(reason)
  }
}

/**
 * The times of leases. A server that fails is noticed after its last renewal (at most `beatMs` before) and `leaseMs`, by the next beat of
 * another one: 1.25 to 1.75 s. The rest of 2 s is for taking its leases and its first work.
 */

/**
 * A server whose registration was not renewed for so long counts as dead. Five beats in a row must be lost: pauses for garbage, commits of
 * a busy database and a machine with twice as much to do as it can are shorter. A server that is taken for dead by mistake does its work
 * again later, and nothing twice: every commit checks its leases.
 */
export const leaseMs = 1_500
/**
 * Each is one short statement: whether the database answers, its clock, the renewal of the registration, and the search for servers whose
 * registration is over. Several fit into a lease.
 */
export const beatMs = 250
/** A server stops this long before its leases may be taken over: from the question whether it has a lease to the signature. */
export const marginMs = 200
/**
 * A database transaction of a server that is gone or stalled ends, and releases its locks, before the leases of that server are taken over.
 * Between two statements, nothing but this process is waited for.
 */
const idleInTransactionMs = 1_200
