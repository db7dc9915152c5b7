import type { AuditEntry, MasterKeyCheck, RightsFault, RightsGuard } from '../domain/rows.ts'

/** All secrets and MACs of a database, for operators' commands. */
export interface SecretsStore {
  /** The wall clock that all users of the database share, in milliseconds since the Unix epoch. */
  now(): number
  /** Undefined in a new database. */
  masterKeyCheck(): Promise<MasterKeyCheck | undefined>
  /** All faults of the rows that grant rights. */
  faults(guard: RightsGuard): Promise<RightsFault[]>
  /** Accepts the rows that grant rights with their present content. Resolves to their number. */
  acceptRights(guard: RightsGuard, entry: AuditEntry): Promise<number>
  /**
   * Seals all secrets again in one database transaction. Resolves to their number. An error of `change` rolls back. Rejects with
   * UntrustedRows, because a new MAC would make a foreign row trusted.
   */
  reseal(
    change: (sealed: Uint8Array, row: string) => Uint8Array,
    newCheck: MasterKeyCheck,
    rights: { from: RightsGuard | undefined; to: RightsGuard },
    entry: AuditEntry,
  ): Promise<number>
  /** Removes what earlier versions of rows left behind. Resolves to where old ciphertexts may still be; undefined: nowhere. */
  sweepOut(): Promise<string | undefined>
  close(): Promise<void>
}

/** Rows that grant rights were changed by another program. */
export class UntrustedRows extends Error {
  readonly faults: RightsFault[]

  constructor(faults: RightsFault[]) {
    super('Rows that grant rights were changed by another program')
    this.faults = faults
  }
}
