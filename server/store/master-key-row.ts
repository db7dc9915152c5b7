import type { MasterKeyCheck } from '../core/rows.ts'

/** The row of `vault_check`. */
export interface MasterKeyRow {
  sealed: Uint8Array
  wrapped_by: string | null
  wrapped_key: Uint8Array | null
}

export const masterKeyCheckOf = ({ sealed, wrapped_by, wrapped_key }: MasterKeyRow): MasterKeyCheck => ({
  sealed,
  wrapped: wrapped_by === null || wrapped_key === null ? null : { by: wrapped_by, bytes: wrapped_key },
})
