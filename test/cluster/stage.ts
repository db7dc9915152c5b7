import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Seed } from '../crash/seeded-faults.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../support/database-proxy.ts'
import { createDatabase, type Database, type Replication } from './database.ts'
import { createMember, type Member } from './member.ts'

/** Several servers on one PostgreSQL database, each with a separate network to it. */
export interface Stage {
  members: Member[]
  networks: DatabaseProxy[]
  database: Database
  /** Runs a statement of the test's own. */
  rows: Database['rows']
  stop(): Promise<void>
}

export interface StageOptions {
  servers: number
  fault?: Seed[] | undefined
  settings?: Record<string, string>
  replication?: Replication | undefined
}

export async function startStage({ servers, fault, settings, replication }: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-cluster-'))
  const networks: DatabaseProxy[] = []
  const members: Member[] = []
  const database = createDatabase({
    replication,
    moved: (url) => networks.forEach((network) => void network.pointTo(url)),
  })

  async function stop(): Promise<void> {
    await Promise.all(members.map((member) => member.stop()))
    await Promise.all(networks.map((network) => network.stop()))
    await database.stop()
    rmSync(folder, { recursive: true, force: true })
  }

  // PostgreSQL would go on without us.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop().then(() => process.exit(1)))
  try {
    await database.start()
    for (let index = 0; index < servers; index += 1) {
      const network = await startDatabaseProxy(database.url())
      networks.push(network)
      members.push(await createMember(join(folder, `${index}`), network.url, fault, settings))
    }
    await Promise.all(members.map((member) => member.start()))
    await Promise.all(members.map((member) => member.ready()))
  } catch (error) {
    await stop()
    throw error
  }

  return {
    members,
    networks,
    database,
    rows: database.rows,
    stop,
  }
}
