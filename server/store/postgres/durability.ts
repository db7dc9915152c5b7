import type { Client } from 'pg'
import { StoreError } from '../store-error.ts'

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
