import { emptySums, type RightsSeal, toggle } from '../rights-seal.ts'
import { createScan, type RightsState, type RightsTables } from '../rights-state.ts'
import { rightsTables } from '../rights-tables.ts'
import { contentAsText, max_step, readManifest, rows, setManifest, setSeal } from './rights-tables.ts'
import type { Session, Transaction } from './session.ts'

/** Scans every protected row. `session`: all statements must see one state. `known`: the result of the previous scan. */
export async function scanRights(
  session: Session,
  seal: RightsSeal,
  known: RightsTables | undefined,
): Promise<RightsState> {
  const scan = createScan(seal, seal.openManifest((await session.one(readManifest))?.sealed), known)
  for (const table of rightsTables) {
    for (let after = 0; ; ) {
      const some = await session.all(rows[table].some, { after })
      for (const row of some) scan.add(table, contentAsText(row))
      if (some.length < max_step) break
      after = some.at(-1)?.row_id as number
    }
  }
  return scan.end()
}

/** Gives every protected row a new version and a MAC for its present content, and writes a new manifest. Returns their number. */
export async function sealAll(transaction: Transaction, seal: RightsSeal, first_version: number): Promise<number> {
  const sums = emptySums()
  let version = first_version
  let count = 0
  for (const table of rightsTables) {
    for (let after = 0; ; ) {
      const some = await transaction.all(rows[table].some, { after })
      for (const row of some) {
        version += 1
        const rights_mac = seal.macOf(table, { ...contentAsText(row), rights_version: version })
        await transaction.run(setSeal[table], { row_id: row.row_id, rights_version: version, rights_mac })
        toggle(sums[table], seal.element(table, row.row_id, version))
        count += 1
      }
      if (some.length < max_step) break
      after = some.at(-1)?.row_id as number
    }
  }
  await transaction.run(setManifest, { sealed: seal.sealManifest({ version, sums }) })
  return count
}
