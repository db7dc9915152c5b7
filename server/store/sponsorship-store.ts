import type { Sponsorship, Usage } from '../../generated/openapi.ts'
import type { SponsorshipRules } from '../core/policies/sponsored-calls.ts'
import type { ApiKeyRow, Listing, PendingAuditEntry, Slice } from '../core/rows.ts'

export interface SponsorshipRow extends Omit<Sponsorship, 'usage'> {
  row_id: number
  chain_id: number
  /** One of the two: what sends the calls. The row ids tell them from later ones with the same id. */
  relayer_row_id: number | null
  pool_row_id: number | null
}

export interface NewSponsorship extends SponsorshipRules {
  id: string
  paused: boolean
  created_at: string
  /** Exactly one of the two. */
  relayer_id?: string
  pool_id?: string
}

/** Sponsorships, and what their limits have left. `auditEntry`: committed in the same database transaction. */
export interface SponsorshipStore {
  /** Together with its API key. */
  createSponsorship(
    sponsorship: NewSponsorship,
    api_key: ApiKeyRow,
    auditEntry?: PendingAuditEntry,
  ): Promise<SponsorshipRow | 'id_taken' | 'too_many_keys' | 'key_name_taken' | 'unknown_relayer' | 'unknown_pool'>
  getSponsorship(id: string): Promise<SponsorshipRow | undefined>
  sponsorshipOfKey(api_key_id: string): Promise<SponsorshipRow | undefined>
  listSponsorships(slice: Slice): Promise<Listing<SponsorshipRow>>
  updateSponsorship(
    id: string,
    changes: Partial<SponsorshipRules> & { paused?: boolean },
    auditEntry?: PendingAuditEntry,
  ): Promise<SponsorshipRow | undefined>
  /** Its API key is removed with it. */
  deleteSponsorship(id: string, auditEntry?: PendingAuditEntry): Promise<boolean>
  /** The origins that any sponsorship lists. */
  sponsorshipOrigins(): Promise<ReadonlySet<string>>
  /** The use of a daily limit. `place`: under which the amounts are counted (Spend). */
  usage(place: { chain_id: number; holder: string; asset: string; limit: string }): Promise<Usage>
}
