import type { Abi, AbiSummary } from '../../../generated/openapi.ts'
import type { AbiRow, ContractFunction, Listing, PageRequest, PendingAuditEntry } from '../../domain/rows.ts'
import { type Database, sql, type TableList } from './database.ts'

const listed = 'id, network, address, name'

const columns = `${listed}, created_at`

const selectAbi = sql<AbiSummary & { entries: string }>(`SELECT ${columns}, entries FROM abis WHERE id = $id`)
const network = sql('SELECT 1 FROM networks WHERE name = $network')
const taken = sql('SELECT 1 FROM abis WHERE id = $id')
const insertAbiRow = sql<Pick<Abi, 'created_at'>>(`
  INSERT INTO abis (${listed}, entries, functions, errors)
  VALUES ($id, $network, $address, $name, $entries, $functions, $errors)
  ON CONFLICT DO NOTHING RETURNING created_at`)
const deleteAbiRow = sql('DELETE FROM abis WHERE id = $id')
const selectFragments = sql<{ its: string | null; errors: string }>(
  (engine) => `
  SELECT ${engine === 'sqlite' ? 'functions' : 'functions::json'} ->> $selector AS its, errors FROM abis
  WHERE network = $network AND address = $address`,
)

export const createAbi = (
  database: Database,
  { id, network: its, address, name, abi, functions, errors }: AbiRow,
  auditEntry?: PendingAuditEntry,
): Promise<Abi | 'id_taken' | 'contract_taken' | 'unknown_network'> =>
  database.writeAlone(async (dbTransaction) => {
    if (!(await dbTransaction.one(network, { network: its }))) return 'unknown_network'
    if (await dbTransaction.one(taken, { id })) return 'id_taken'
    const row = { id, network: its, address, name }
    const json = {
      entries: JSON.stringify(abi),
      functions: JSON.stringify(functions),
      errors: JSON.stringify(errors),
    }
    const created = await dbTransaction.one(insertAbiRow, { ...row, ...json })
    return created ? { ...row, abi, ...created } : 'contract_taken'
  }, auditEntry)

export async function getAbi(database: Database, id: string): Promise<Abi | undefined> {
  const found = await database.read.one(selectAbi, { id })
  if (!found) return undefined
  const { entries, ...abi } = found
  return { ...abi, abi: JSON.parse(entries) }
}

const abiList: TableList<AbiSummary, AbiSummary> = { table: 'abis', columns, read: (row) => row }

export const listAbis = (database: Database, slice: PageRequest): Promise<Listing<AbiSummary>> =>
  database.list(abiList, slice)

export const deleteAbi = (database: Database, id: string, auditEntry?: PendingAuditEntry): Promise<boolean> =>
  database.writeAlone(async (dbTransaction) => (await dbTransaction.run(deleteAbiRow, { id })) === 1, auditEntry)

/** What decodes calls of this contract and function, as human-readable ABI: the function first, then errors. */
export async function knownFragments(database: Database, contract: ContractFunction): Promise<string[] | undefined> {
  const found = await database.read.one(selectFragments, { ...contract })
  if (!found) return undefined
  return [...(found.its === null ? [] : [found.its]), ...JSON.parse(found.errors)]
}
