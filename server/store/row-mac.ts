import { timingSafeEqual } from 'node:crypto'
import { errorOf } from '../domain/errors.ts'
import type { RightsFault, RightsGuard } from '../domain/rows.ts'
import { BoundedMap } from '../lib/cache.ts'

/** The tables whose rows grant rights, and the columns that the MAC of a row covers. */
export const rightsColumns = {
  api_keys: [
    ...['id', 'secret_hash', 'former_tokens', 'previous_token_expires_at', 'scopes', 'is_limited'],
    ...['allowed_cidrs', 'rate_limit', 'expires_at', 'pool_ids', 'budget'],
  ],
  relayers: [
    ...['id', 'network', 'chain_id', 'address', 'signer_id', 'notification_id', 'paused', 'policies'],
    ...['custom_rpc_urls', 'system_disabled', 'other_notification_ids', 'funding'],
  ],
  networks: [
    ...['id', 'name', 'chain_id', 'rpc_urls', 'required_confirmations', 'private_rpc_urls', 'submission'],
    ...['min_priority_fee_per_gas', 'min_gas_price', 'coin_token'],
  ],
  notifications: ['id', 'url', 'signing_key', 'former_key', 'former_until', 'created_by', 'filter'],
  signers: ['id', 'type', 'address', 'secret'],
  pools: ['id', 'network', 'policies', 'funding'],
  sponsorships: [
    ...['id', 'network', 'chain_id', 'relayer_id', 'relayer_row_id', 'pool_id', 'pool_row_id'],
    ...['rules', 'paused', 'api_key_id'],
  ],
  facilitators: ['id', 'network', 'chain_id', 'pool_id', 'pool_row_id', 'rules', 'api_key_id'],
} as const

/** The tables that list relayers of a row; the MAC of the row covers the list. */
export const listsOfRelayers = {
  api_keys: { table: 'api_key_relayers', owner: 'api_key_row_id' },
  pools: { table: 'pool_relayers', owner: 'pool_row_id' },
} as const

export type RightsTable = keyof typeof rightsColumns

export const rightsTables = Object.keys(rightsColumns) as RightsTable[]

/** Columns of bytes, which are hex in the content: upper case, and the empty string for NULL. */
export const bytesOfRights = new Set<string>(['secret_hash', 'former_tokens', 'signing_key', 'former_key', 'secret'])

/**
 * A row with its MAC and the content that the MAC covers: a JSON array of the row id, the columns in the order of the list and, for
 * a row with a list of relayers, their row ids as the text of a JSON array. All stores build the same text, so that a row can move
 * between them.
 */
export interface SealedRow {
  row_id: number
  rights_version: number
  rights_mac: Uint8Array | null
  rights_content: string
}

/** The expected state of the protected rows. */
interface Manifest {
  /** The last assigned version. */
  version: number
  /** For each table, the XOR of the elements of its rows. */
  sums: Record<RightsTable, Buffer>
}

const place = 'rights_manifest:1'
const macBytes = 32

export const byTable = <T>(make: (table: RightsTable) => T) =>
  Object.fromEntries(rightsTables.map((table) => [table, make(table)])) as Record<RightsTable, T>

export const emptySums = (): Manifest['sums'] => byTable(() => Buffer.alloc(macBytes))

/** Adds an element to a sum, or removes it; both are XOR. */
export function toggle(sum: Buffer, element: Buffer): void {
  for (let at = 0; at < macBytes; at += 1) sum.writeUInt8(sum.readUInt8(at) ^ element.readUInt8(at), at)
}

/** A protected row that a database transaction changes. `version`: the version before the change; 0: none. */
export interface RightsChange {
  table: RightsTable
  row_id: number
  version: number
}

/**
 * Moves a changed row in the manifest. Returns its new version and MAC; undefined for a row that was deleted. `row`: its present
 * content.
 */
export function sealChange(
  seal: RowMac,
  manifest: Manifest,
  { table, row_id, version }: RightsChange,
  row: SealedRow | undefined,
): { rights_version: number; rights_mac: Buffer } | undefined {
  if (version > 0) toggle(manifest.sums[table], seal.element(table, row_id, version))
  if (!row) return undefined
  manifest.version += 1
  const rightsVersion = manifest.version
  toggle(manifest.sums[table], seal.element(table, row_id, rightsVersion))
  return { rights_version: rightsVersion, rights_mac: seal.macOf(table, { ...row, rights_version: rightsVersion }) }
}

/** The cryptography of rows that grant rights, under one master key. */
export class RowMac {
  readonly #guard: RightsGuard

  constructor(guard: RightsGuard) {
    this.#guard = guard
  }

  macOf(table: RightsTable, { row_id, rights_version, rights_content }: Omit<SealedRow, 'rights_mac'>): Buffer {
    return this.#guard.mac(`row ${table} ${row_id} ${rights_version} ${rights_content}`)
  }

  isGenuine(table: RightsTable, row: SealedRow): boolean {
    return row.rights_mac?.length === macBytes && timingSafeEqual(row.rights_mac, this.macOf(table, row))
  }

  /** A row's element of its table's sum. It depends on the master key, so that without it no other rows with the same sum can be found. */
  element(table: RightsTable, rowId: number, version: number): Buffer {
    return this.#guard.mac(`element ${table} ${rowId} ${version}`)
  }

  sealManifest({ version, sums }: Manifest): Uint8Array {
    const texts = Object.entries(sums).map(([table, sum]) => [table, sum.toString('hex')])
    return this.#guard.seal(Buffer.from(JSON.stringify({ version, sums: Object.fromEntries(texts) })), place)
  }

  /** Undefined for anything other than a manifest that was sealed under this master key. */
  openManifest(sealed: Uint8Array | undefined): Manifest | undefined {
    if (!sealed) return undefined
    try {
      const { version, sums } = JSON.parse(this.#guard.open(sealed, place).toString())
      return { version, sums: byTable((table) => Buffer.from(sums[table], 'hex')) }
    } catch {
      return undefined
    }
  }
}

const blockRows = 4_096

/**
 * The version of each row of a table, by row id; 0: no such row. The versions stand in blocks of numbers: a Map of a million rows
 * takes five times the memory, and stops the process for tens of milliseconds whenever it grows.
 */
class RowVersions {
  readonly #blocks = new Map<number, Float64Array>()

  get(rowId: number): number {
    return this.#blocks.get(Math.floor(rowId / blockRows))?.[rowId % blockRows] ?? 0
  }

  set(rowId: number, version: number): void {
    const number = Math.floor(rowId / blockRows)
    const block = this.#blocks.get(number) ?? new Float64Array(blockRows)
    block[rowId % blockRows] = version
    this.#blocks.set(number, block)
  }
}

/**
 * By table: the version of each row, and the rows that the manifest matches: `all`, only the `genuine` ones (another program added
 * rows), or `neither` (rows were rolled back or removed).
 */
export type RightsTables = Record<RightsTable, { versions: RowVersions; counted: 'all' | 'genuine' | 'neither' }>

/** The result of a scan of all protected rows. */
export interface RightsState {
  tables: RightsTables
  faults: RightsFault[]
}

export type NamedRow = SealedRow & { id: string }

const maxFaults = 100

/** Judges all protected rows, table by table. */
export class Scan {
  readonly #seal: RowMac
  readonly #manifest: Manifest | undefined
  readonly #known: RightsTables | undefined
  readonly #sums = { all: emptySums(), genuine: emptySums() }
  readonly #faults: RightsFault[] = []
  readonly #versions = byTable(() => new RowVersions())

  /** `known`: the result of the previous scan. */
  constructor(seal: RowMac, manifest: Manifest | undefined, known: RightsTables | undefined) {
    this.#seal = seal
    this.#manifest = manifest
    this.#known = known
  }

  add(table: RightsTable, row: NamedRow): void {
    const isGenuine = this.#seal.isGenuine(table, row)
    const isNewest = row.rights_version >= (this.#known?.[table].versions.get(row.row_id) ?? 0)
    const element = this.#seal.element(table, row.row_id, row.rights_version)
    toggle(this.#sums.all[table], element)
    if (isGenuine) {
      toggle(this.#sums.genuine[table], element)
      this.#versions[table].set(row.row_id, row.rights_version)
      if (isNewest) return
    }
    const reason = isGenuine ? 'rolled back' : 'changed'
    if (this.#faults.length < maxFaults) this.#faults.push({ table, id: row.id, reason })
  }

  end(): RightsState {
    const tables = byTable((table) => {
      const sum = this.#manifest?.sums[table]
      const { all, genuine } = this.#sums
      const counted = sum?.equals(all[table]) ? 'all' : sum?.equals(genuine[table]) ? 'genuine' : 'neither'
      if (counted === 'neither') this.#faults.push(missing(table))
      return { versions: this.#versions[table], counted } satisfies RightsTables[RightsTable]
    })
    return { tables, faults: this.#faults }
  }
}

/** The fault of a row that is used; undefined when the service wrote it. `known`: the result of the scan of its table. */
export function faultOf(
  seal: RowMac,
  table: RightsTable,
  row: NamedRow,
  known: RightsTables[RightsTable] | undefined,
): RightsFault | undefined {
  if (known === undefined || known.counted === 'neither') return missing(table)
  const isGenuine = seal.isGenuine(table, row)
  const isNewest = row.rights_version >= known.versions.get(row.row_id)
  if (isGenuine && isNewest) return undefined
  return { table, id: row.id, reason: isGenuine ? 'rolled back' : 'changed' }
}

/** Applies the committed changes of this server; version 0: deleted. */
export function follow(tables: RightsTables, changes: RightsChange[]): void {
  for (const { table, row_id, version } of changes) tables[table].versions.set(row_id, version)
}

/** The change that a deletion of a row is. The manifest does not count a row that another program added. */
export function deletionOf(
  seal: RowMac,
  table: RightsTable,
  row: NamedRow,
  known: RightsTables[RightsTable] | undefined,
): RightsChange {
  const isCounted = seal.isGenuine(table, row) || known?.counted !== 'genuine'
  return { table, row_id: row.row_id, version: isCounted ? row.rights_version : 0 }
}

/** The row without its MAC. */
export function withoutSeal<R extends Record<keyof SealedRow, unknown>>(
  row: R,
): Omit<R, Exclude<keyof SealedRow, 'row_id'>> {
  const { rights_version: _, rights_mac: __, rights_content: ___, ...rest } = row
  return rest
}

const missing = (table: RightsTable): RightsFault => ({
  table,
  id: null,
  reason: 'rows are missing or rolled back',
})

/** Only the log names the row, because the caller may not have the right to see it. */
export const distrusted = () =>
  errorOf(
    'unavailable',
    'store',
    'Rows of the database were changed by another program than this service; its log names them',
  )

/** A fault is reported again after this many other faults, which limits the memory. */
const maxReported = 1_000

/** Reports each fault once. */
export class FaultReports {
  readonly #reported = new BoundedMap<string, true>(maxReported)
  #report: (fault: RightsFault) => void = () => {}

  to(report: (fault: RightsFault) => void): void {
    this.#report = report
  }

  tell(faults: RightsFault[]): void {
    for (const fault of faults) {
      const name = JSON.stringify(fault)
      if (this.#reported.has(name)) continue
      this.#reported.set(name, true)
      this.#report(fault)
    }
  }
}
