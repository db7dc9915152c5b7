import { emptySums, type RightsChange, type RightsSeal, sealChange, toggle } from '../rights-seal.ts'
import { createScan, type RightsState, type RightsTables } from '../rights-state.ts'
import { type RightsTable, rightsTables } from '../rights-tables.ts'
import {
  contentAsText,
  lockManifest,
  max_step,
  readManifest,
  rows,
  type StoredRow,
  setManifest,
  setSeal,
} from './rights-rows.ts'
import type { Session } from './session.ts'

/** The rows of a table in steps. */
async function* stepsOf(session: Session, table: RightsTable): AsyncGenerator<StoredRow[]> {
  for (let after = 0; ; ) {
    const some = await session.all(rows[table].some, { after })
    yield some
    if (some.length < max_step) return
    after = some.at(-1)?.row_id as number
  }
}

/**
 * Scans every protected row. `session`: all statements must see one state. `known`: the result of the previous scan. `pause`: called after
 * each full step.
 */
export async function scanRights(
  session: Session,
  seal: RightsSeal,
  known?: RightsTables,
  pause: () => Promise<void> = async () => {},
): Promise<RightsState> {
  const scan = createScan(seal, seal.openManifest((await session.one(readManifest))?.sealed), known)
  for (const table of rightsTables) {
    for await (const some of stepsOf(session, table)) {
      for (const row of some) scan.add(table, contentAsText(row))
      if (some.length === max_step) await pause()
    }
  }
  return scan.end()
}

/**
 * Gives every protected row a new version and a MAC for its present content, and writes a new manifest. Must be called inside a database
 * transaction. Resolves to their number.
 */
export async function sealAll(session: Session, seal: RightsSeal, first_version: number): Promise<number> {
  const sums = emptySums()
  let version = first_version
  for (const table of rightsTables) {
    for await (const some of stepsOf(session, table)) {
      for (const row of some) {
        version += 1
        const rights_mac = seal.macOf(table, { ...contentAsText(row), rights_version: version })
        await session.run(setSeal[table], { row_id: row.row_id, rights_version: version, rights_mac })
        toggle(sums[table], seal.element(table, row.row_id, version))
      }
    }
  }
  await session.run(setManifest, { sealed: seal.sealManifest({ version, sums }) })
  return version - first_version
}

/**
 * Gives the changed rows of a database transaction a new version and a MAC, and changes the manifest, whose lock is taken after those of all
 * rows. Resolves to the changes with the new versions; version 0: deleted.
 */
export async function sealChanges(
  session: Session,
  seal: RightsSeal,
  changes: Iterable<RightsChange>,
): Promise<RightsChange[]> {
  const manifest = seal.openManifest((await session.one(lockManifest))?.sealed)
  if (!manifest) throw new Error('The manifest of the rows that grant rights is missing')
  const sealed: RightsChange[] = []
  for (const change of changes) {
    const { table, row_id } = change
    const row = await session.one(rows[table].one, { row_id })
    const done = sealChange(seal, manifest, change, row && contentAsText(row))
    if (done) await session.run(setSeal[table], { row_id, ...done })
    sealed.push({ table, row_id, version: done?.rights_version ?? 0 })
  }
  await session.run(setManifest, { sealed: seal.sealManifest(manifest) })
  return sealed
}
