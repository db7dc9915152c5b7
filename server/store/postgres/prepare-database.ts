import type { Client } from 'pg'
import { StoreError } from '../store-errors.ts'
import { migrate } from './migrations.ts'
import { connectClient, pooled, startMs } from './pool.ts'

/** The settings of PostgreSQL that an acknowledged commit relies on, and their values with which it survives a power failure. */
const durable = {
  fsync: ['on'],
  full_page_writes: ['on'],
  synchronous_commit: ['on', 'remote_apply'],
} as const

export type DurabilitySetting = keyof typeof durable

export const durabilitySettings = Object.keys(durable) as DurabilitySetting[]

/**
 * The settings that weaken durability, in the form `fsync = off`. Throws StoreError for those that are not allowed.
 * `allowed`: the settings that may be weaker.
 */
export async function checkDurability(
  client: Pick<Client, 'query'>,
  allowed: readonly DurabilitySetting[],
): Promise<string[]> {
  const weak: { name: DurabilitySetting; value: string }[] = []
  for (const name of durabilitySettings) {
    const { rows } = await client.query<{ value: string }>('SELECT current_setting($1) AS value', [name])
    const { value } = rows[0] as { value: string }
    if (!(durable[name] as readonly string[]).includes(value)) weak.push({ name, value })
  }
  const refused = weak.filter(({ name }) => !allowed.includes(name))
  if (refused.length > 0) {
    const faults = refused.map(({ name, value }) => `${name} = ${value} (needed: ${durable[name].join(' or ')})`)
    throw new StoreError(
      `PostgreSQL may lose acknowledged commits: ${faults.join(', ')}. Change its settings, or name them in DATABASE_ALLOW_WEAK`,
    )
  }
  return weak.map(({ name, value }) => `${name} = ${value}`)
}

export interface PreparationSettings {
  url: string
  /** The settings of PostgreSQL that may weaken durability. */
  allow_weak: readonly DurabilitySetting[]
}

/** The oldest supported version, as `server_version_num`. */
const oldestVersion = 150_000

/**
 * Checks the server, and migrates the database to the newest schema. Returns the settings that weaken durability and are allowed.
 * Throws StoreError when the server cannot be used.
 */
export async function prepareDatabase({ url, allow_weak }: PreparationSettings): Promise<string[]> {
  const client = await connectClient({ url }, { connectionTimeoutMillis: startMs })
  try {
    const { rows } = await client.query<{ version: string; encoding: string; is_replica: boolean; seqscan: string }>(
      `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
        pg_is_in_recovery() AS is_replica, current_setting('enable_seqscan') AS seqscan`,
    )
    const { version, encoding, is_replica, seqscan } = rows[0] as (typeof rows)[0]
    // The service sets it when it connects (pool.ts).
    if (seqscan !== 'off') throw pooled()
    if (Number(version) < oldestVersion) throw new StoreError('PostgreSQL must be version 15 or newer')
    if (encoding !== 'UTF8') throw new StoreError(`The encoding of the database must be UTF8; it is ${encoding}`)
    if (is_replica)
      throw new StoreError('PostgreSQL is a standby, which is read-only: DATABASE_URL must name the primary')
    const weak = await checkDurability(client, allow_weak)
    await migrate(client)
    return weak
  } finally {
    await client.end()
  }
}
