import { type RightsTable, rightsColumns, rightsTables } from '../rights-tables.ts'
import { contentOf } from '../rules/sealed-rows.ts'

/**
 * Temporary triggers that call `rights_change` for every change of a protected row, by any statement of this connection. The content of an
 * API key includes the list of its relayers, so it is built once per database transaction and not for each relayer in the list:
 * `rights_is_recorded` tells whether the key's change is known already.
 */
export function rightsTriggers(): string {
  const call = (table: RightsTable, kind: string, row: string) =>
    `SELECT rights_change('${table}', '${kind}', ${row}.row_id, ${row}.rights_version, ${row}.rights_mac, ${contentOf('sqlite', table, row)})`
  const ofTables = rightsTables.flatMap((table) => [
    `CREATE TEMP TRIGGER rights_${table}_insert AFTER INSERT ON main.${table}
     BEGIN SELECT rights_change('${table}', 'insert', NEW.row_id, 0, NULL, ''); END`,
    `CREATE TEMP TRIGGER rights_${table}_update BEFORE UPDATE OF row_id, ${rightsColumns[table].join(', ')} ON main.${table}
     BEGIN ${call(table, 'update', 'OLD')}; END`,
    `CREATE TEMP TRIGGER rights_${table}_delete BEFORE DELETE ON main.${table}
     BEGIN ${call(table, 'delete', 'OLD')}; END`,
  ])
  const ofLists = (
    [
      ['INSERT', 'NEW'],
      ['DELETE', 'OLD'],
    ] as const
  ).map(
    ([verb, row]) => `CREATE TEMP TRIGGER rights_api_key_relayers_${verb} BEFORE ${verb} ON main.api_key_relayers
     WHEN NOT rights_is_recorded('api_keys', ${row}.api_key_row_id)
     BEGIN ${call('api_keys', 'update', 'api_keys')} FROM api_keys WHERE row_id = ${row}.api_key_row_id; END`,
  )
  return `${[...ofTables, ...ofLists].join(';\n')};`
}
