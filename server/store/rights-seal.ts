import { timingSafeEqual } from 'node:crypto'
import type { RightsGuard } from '../core/rows.ts'
import { type RightsTable, rightsTables, type SealedRow } from './rights-tables.ts'

/** The expected state of the protected rows. */
export interface Manifest {
  /** The last assigned version. */
  version: number
  /** For each table, the XOR of the elements of its rows. */
  sums: Record<RightsTable, Buffer>
}

export type RightsSeal = ReturnType<typeof rightsSeal>

const place = 'rights_manifest:1'
const mac_bytes = 32

export const emptySums = (): Manifest['sums'] =>
  Object.fromEntries(rightsTables.map((table) => [table, Buffer.alloc(mac_bytes)])) as Manifest['sums']

/** Adds an element to a sum, or removes it; both are XOR. */
export function toggle(sum: Buffer, element: Buffer): void {
  for (let at = 0; at < mac_bytes; at += 1) sum.writeUInt8(sum.readUInt8(at) ^ element.readUInt8(at), at)
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
  seal: RightsSeal,
  manifest: Manifest,
  { table, row_id, version }: RightsChange,
  row: SealedRow | undefined,
): { rights_version: number; rights_mac: Buffer } | undefined {
  if (version > 0) toggle(manifest.sums[table], seal.element(table, row_id, version))
  if (!row) return undefined
  manifest.version += 1
  const rights_version = manifest.version
  toggle(manifest.sums[table], seal.element(table, row_id, rights_version))
  return { rights_version, rights_mac: seal.macOf(table, { ...row, rights_version }) }
}

/** The cryptography of rows that grant rights, under one master key. */
export function rightsSeal({ mac, seal, open }: RightsGuard) {
  const macOf = (
    table: RightsTable,
    { row_id, rights_version, rights_content }: Omit<SealedRow, 'rights_mac'>,
  ): Buffer => mac(`row ${table} ${row_id} ${rights_version} ${rights_content}`)

  return {
    macOf,
    isGenuine(table: RightsTable, row: SealedRow): boolean {
      return row.rights_mac?.length === mac_bytes && timingSafeEqual(row.rights_mac, macOf(table, row))
    },
    /** A row's element of its table's sum. It depends on the master key, so that without it no other rows with the same sum can be found. */
    element: (table: RightsTable, row_id: number, version: number): Buffer =>
      mac(`element ${table} ${row_id} ${version}`),
    sealManifest({ version, sums }: Manifest): Uint8Array {
      const texts = Object.entries(sums).map(([table, sum]) => [table, sum.toString('hex')])
      return seal(Buffer.from(JSON.stringify({ version, sums: Object.fromEntries(texts) })), place)
    },
    /** Undefined for anything other than a manifest that was sealed under this master key. */
    openManifest(sealed: Uint8Array | undefined): Manifest | undefined {
      if (!sealed) return undefined
      try {
        const { version, sums } = JSON.parse(open(sealed, place).toString())
        const bytes = rightsTables.map((table) => [table, Buffer.from(sums[table], 'hex')])
        return { version, sums: Object.fromEntries(bytes) }
      } catch {
        return undefined
      }
    },
  }
}
