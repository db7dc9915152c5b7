import pg from 'pg'
import { StoreError } from '../store-error.ts'

export interface PoolSettings {
  url: string
  max_connections: number
}

/** The time to connect; then the database counts as away. */
const connect_ms = 1_000
/** A caller waits this long while all connections are in use. */
const turn_ms = 5_000
/** A statement that takes longer is ended by the server. */
const statement_ms = 10_000
/** An answer that takes longer has been lost: the connection is closed. */
const answer_ms = 12_000
/** A database transaction whose server is gone releases its locks. */
const idle_in_transaction_ms = 10_000
/** The server ends a connection whose other end does not answer for about 10 seconds. */
const keepalive = '-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3'

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

export function clientConfig({ url }: Pick<PoolSettings, 'url'>): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: 'evm-relayer-service',
    connectionTimeoutMillis: connect_ms,
    statement_timeout: statement_ms,
    query_timeout: answer_ms,
    idle_in_transaction_session_timeout: idle_in_transaction_ms,
    keepAlive: true,
    keepAliveInitialDelayMillis: 4_000,
    options: keepalive,
    types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
  }
}

/** A pool gives its connections the time of a caller's turn, which is longer. */
class PromptClient extends pg.Client {
  constructor(config: pg.ClientConfig = {}) {
    super({ ...config, connectionTimeoutMillis: connect_ms })
  }
}

export function createPool(settings: PoolSettings): pg.Pool {
  const pool = new pg.Pool({
    ...clientConfig(settings),
    max: settings.max_connections,
    connectionTimeoutMillis: turn_ms,
    Client: PromptClient,
  })
  // A connection that ends while it is idle is replaced by the next caller, who gets an error if that fails.
  pool.on('error', () => undefined)
  // A connection that ends while it is in use fails its statement. Without a listener, the event would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** Opens a connection of its own. Throws StoreError, whose message has nothing of the URL. */
export async function connectClient(settings: Pick<PoolSettings, 'url'>): Promise<pg.Client> {
  try {
    const client = new pg.Client(clientConfig(settings))
    client.on('error', () => undefined)
    await client.connect()
    return client
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    // The messages of the network name the address, those of PostgreSQL the user or the database.
    throw new StoreError(`PostgreSQL cannot be reached (${code ?? message})`)
  }
}
