import type { Abi, ListedAbi } from '../../../generated/openapi.ts'
import type { ContractFunction } from '../../domain/rows.ts'
import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { sql } from './session.ts'

const listed = 'id, network, address, name'

const select = sql<ListedAbi & { entries: string }>(`SELECT ${listed}, entries FROM abis WHERE id = $id`)
const network = sql('SELECT 1 FROM networks WHERE name = $network')
const taken = sql('SELECT 1 FROM abis WHERE id = $id')
const insert = sql(`
  INSERT INTO abis (${listed}, entries, functions, errors)
  VALUES ($id, $network, $address, $name, $entries, $functions, $errors)
  ON CONFLICT DO NOTHING`)
const remove = sql('DELETE FROM abis WHERE id = $id')
const selectFragments = sql<{ its: string | null; errors: string }>(
  (engine) => `
  SELECT ${engine === 'sqlite' ? 'functions' : 'functions::json'} ->> $selector AS its, errors FROM abis
  WHERE network = $network AND address = $address`,
)

type Abis = Pick<Store, 'createAbi' | 'getAbi' | 'listAbis' | 'deleteAbi' | 'knownFragments'>

export const abis = ({ read, lister, writeAlone }: Database): Abis => ({
  createAbi: ({ id, network: its, address, name, abi, functions, errors }, auditEntry) =>
    writeAlone(async (transaction) => {
      if (!(await transaction.one(network, { network: its }))) return 'unknown_network'
      if (await transaction.one(taken, { id })) return 'id_taken'
      const row = { id, network: its, address, name }
      const json = {
        entries: JSON.stringify(abi),
        functions: JSON.stringify(functions),
        errors: JSON.stringify(errors),
      }
      return (await transaction.run(insert, { ...row, ...json })) === 1 ? 'created' : 'contract_taken'
    }, auditEntry),
  async getAbi(id): Promise<Abi | undefined> {
    const found = await read.one(select, { id })
    if (!found) return undefined
    const { entries, ...abi } = found
    return { ...abi, abi: JSON.parse(entries) }
  },
  listAbis: lister<ListedAbi, ListedAbi>('abis', listed, (row) => row),
  deleteAbi: (id, auditEntry) =>
    writeAlone(async (transaction) => (await transaction.run(remove, { id })) === 1, auditEntry),
  async knownFragments(contract: ContractFunction) {
    const found = await read.one(selectFragments, { ...contract })
    if (!found) return undefined
    return [...(found.its === null ? [] : [found.its]), ...JSON.parse(found.errors)]
  },
})
