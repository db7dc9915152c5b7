import { oncePerTurn } from './once-per-turn.ts'
import { type ConnectionSettings, type ConnectionWorld, connect, sql } from './postgres/connection.ts'

export type PostgresStore = Awaited<ReturnType<typeof openPostgresStore>>

/** The store in a PostgreSQL database, which it is the only one to use. */
export async function openPostgresStore(settings: ConnectionSettings, world: ConnectionWorld) {
  const connection = await connect(settings, world)
  const { read, withAudit, appendAudit, auditHead, close } = connection

  return {
    generation: oncePerTurn(connection.generation),
    // No other process writes.
    version: () => 0,
    ping: async (): Promise<void> => void (await read.one(ping)),
    close,
    withAudit,
    appendAudit,
    auditHead,
  }
}

const ping = sql('SELECT 1 FROM generation')
