import type { AmountUsage, Sponsorship } from '../../../generated/openapi.ts'
import type { SponsorshipRules } from '../../domain/policies/sponsored-calls.ts'
import type { Conditions, Listing, NewApiKey, PageRequest, PendingAuditEntry } from '../../domain/rows.ts'
import { isFinal } from '../../domain/statuses.ts'
import type { Sponsored, TransactionRow } from '../../domain/transaction-rows.ts'
import { bucketAt, type Correction, correctSpending, endOfBucket, oldestBucket, openCharges } from './daily-limits.ts'
import { type Database, type Session, sql } from './database.ts'
import { createOwner, deleteOwner, findOwner, keyOwners, type OwnerRefusal, updateOwner } from './key-owners.ts'

export interface SponsorshipRow extends Omit<Sponsorship, 'usage'> {
  row_id: number
  chain_id: number
  /** One of the two: what sends the calls. The row ids tell them from later ones with the same id. */
  relayer_row_id: number | null
  pool_row_id: number | null
}

interface NewSponsorship extends SponsorshipRules {
  id: string
  paused: boolean
  created_at: string
  /** Exactly one of the two. */
  relayer_id?: string
  pool_id?: string
}

type StoredSponsorship = Omit<SponsorshipRow, keyof SponsorshipRules | 'revision' | 'paused'> & {
  rules: string
  paused: 0 | 1
}

const owners = keyOwners<StoredSponsorship, SponsorshipRow>(
  'sponsorships',
  {
    names: [
      ...['id', 'network', 'chain_id', 'relayer_id', 'relayer_row_id', 'pool_id', 'pool_row_id'],
      ...['rules', 'paused', 'api_key_id', 'created_at'],
    ],
    changed: ['rules', 'paused'],
  },
  ({ rules, paused, ...row }) => ({ ...row, ...JSON.parse(rules), paused: paused === 1 }),
  ({
    targets,
    forwarders,
    delegates,
    keyed_nonce_delegates,
    max_gas_per_call,
    max_fee_per_call,
    max_fee_per_day,
    user_limits,
    ...row
  }) => {
    const { origins, paused, ...others } = row
    const addresses = { targets, forwarders, delegates, keyed_nonce_delegates }
    const rules = JSON.stringify({
      ...addresses,
      max_gas_per_call,
      max_fee_per_call,
      max_fee_per_day,
      user_limits,
      origins,
    })
    return { ...others, rules, paused: paused ? 1 : 0 }
  },
)

const relayer = sql<{ row_id: number; network: string; chain_id: number }>(
  'SELECT row_id, network, chain_id FROM relayers WHERE id = $id FOR KEY SHARE',
)
export const selectPool = sql<{ row_id: number; network: string; chain_id: number }>(`
  SELECT pools.row_id, pools.network, networks.chain_id FROM pools JOIN networks ON networks.name = pools.network
  WHERE pools.id = $id FOR KEY SHARE`)
const selectRules = sql<{ rules: string }>('SELECT rules FROM sponsorships')
const amounts = sql<{ bucket: number; amount: string }>(`
  SELECT bucket, amount FROM spending
  WHERE chain_id = $chain_id AND address = $holder AND asset = $asset AND bucket >= $oldest ORDER BY bucket`)

/** Together with its API key. */
export const createSponsorship = (
  database: Database,
  { relayer_id, pool_id, ...given }: NewSponsorship,
  apiKey: NewApiKey,
  auditEntry?: PendingAuditEntry,
): Promise<SponsorshipRow | OwnerRefusal> =>
  createOwner({ database, owners }, apiKey, auditEntry, async (dbTransaction) => {
    const its = await dbTransaction.one(relayer_id === undefined ? selectPool : relayer, {
      id: relayer_id ?? pool_id ?? '',
    })
    if (!its) return relayer_id === undefined ? 'unknown_pool' : 'unknown_relayer'
    const { row_id, network, chain_id } = its
    const sender =
      relayer_id === undefined
        ? { relayer_id: null, relayer_row_id: null, pool_id: pool_id as string, pool_row_id: row_id }
        : { relayer_id, relayer_row_id: row_id, pool_id: null, pool_row_id: null }
    return { ...given, ...sender, network, chain_id }
  })

export const getSponsorship = (database: Database, id: string): Promise<SponsorshipRow | undefined> =>
  findOwner(owners, database, database.read, { id })

export async function sponsorshipOfKey(database: Database, apiKeyId: string): Promise<SponsorshipRow | undefined> {
  const row = await findOwner(owners, database, database.read, { api_key_id: apiKeyId })
  return row?.api_key_id === apiKeyId ? row : undefined
}

export const listSponsorships = (database: Database, slice: PageRequest): Promise<Listing<SponsorshipRow>> =>
  database.list(owners.list, slice)

export const updateSponsorship = (
  database: Database,
  id: string,
  changeOf: (sponsorship: SponsorshipRow) => Partial<SponsorshipRules> & { paused?: boolean },
  conditions?: Conditions,
): Promise<SponsorshipRow | undefined> => updateOwner({ database, owners }, id, changeOf, conditions)

export const deleteSponsorship = (database: Database, id: string, conditions?: Conditions): Promise<boolean> =>
  deleteOwner({ database, owners }, id, conditions)

/** The origins that any sponsorship lists. */
export async function sponsorshipOrigins(database: Database): Promise<ReadonlySet<string>> {
  const rows = await database.read.all(selectRules)
  return new Set(rows.flatMap(({ rules }) => JSON.parse(rules).origins))
}

/** The use of a daily limit. `place`: under which the amounts are counted (Spend). */
export async function usage(
  database: Database,
  { limit, window, ...place }: { chain_id: number; holder: string; asset: string; limit: string; window?: 'hour' },
): Promise<AmountUsage> {
  const oldest = oldestBucket(bucketAt(database.effects.now()), window)
  const { chain_id, holder: address, asset } = place
  const [open = 0n] = (await openCharges(database.read, [{ chain_id, address, asset }], oldest)).values()
  const rows = (await database.read.all(amounts, { ...place, oldest })).filter(({ amount }) => amount !== '0')
  const used = rows.reduce((sum, { amount }) => sum + BigInt(amount), open)
  const rest = BigInt(limit) - used
  return {
    used: `${used}`,
    remaining: `${rest > 0n ? rest : 0n}`,
    limit,
    resets_at: rows[0] ? new Date(endOfBucket(rows[0].bucket, window)).toISOString() : null,
  }
}

/** What a transaction counts for its sponsorship: when it is final, its paid fee, and nothing when it ended outside of a block. */
export function chargeOf({ sponsored, block_hash, receipt, status }: TransactionRow): bigint {
  if (!sponsored) return 0n
  if (!isFinal(status)) return BigInt(sponsored.charge)
  return block_hash === null ? 0n : BigInt(receipt?.fee ?? sponsored.charge)
}

/** Follows what transactions count for their sponsorships, and for the users of these. */
export const changeCharges = (session: Session, steps: { before: TransactionRow; after: TransactionRow }[]) =>
  correctSpending(
    session,
    steps.flatMap(({ before, after }) => [
      ...chargesOf(before, -chargeOf(before)),
      ...chargesOf(after, chargeOf(after)),
    ]),
  )

const chargesOf = ({ sponsored, chain_id }: TransactionRow, change: bigint): Correction[] =>
  (sponsored?.holders ?? []).map((address) => ({
    chain_id,
    address,
    asset: 'fee',
    bucket: (sponsored as Sponsored).bucket,
    change,
  }))
