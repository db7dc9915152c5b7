import { bytesOfRights as bytes, type RightsTable, rightsColumns, rightsTables } from '../rights-tables.ts'

/** An SQL expression: the protected content of a row, as JSON. `row`: the table's name, or OLD in a trigger. */
export function contentOf(table: RightsTable, row: string = table): string {
  const values = rightsColumns[table].map((name) => (bytes.has(name) ? `hex(${row}.${name})` : `${row}.${name}`))
  // The empty string makes it text: a JSON value keeps its subtype in some contexts and loses it in others.
  const relayers = `(SELECT json_group_array(relayer_row_id ORDER BY relayer_row_id) || '' FROM api_key_relayers
    WHERE api_key_row_id = ${row}.row_id)`
  return `json_array(${[`${row}.row_id`, ...values, ...(table === 'api_keys' ? [relayers] : [])].join(', ')})`
}

/** The columns for `Rights.require`, as a column list. */
export const sealedColumns = (table: RightsTable): string =>
  `${table}.row_id, ${table}.rights_version, ${table}.rights_mac, ${contentOf(table)} AS rights_content`

/**
 * Temporary triggers that call `rights_change` for every change of a protected row, by any statement of this connection. The content of an
 * API key includes the list of its relayers, so it is built once per database transaction and not for each relayer in the list:
 * `rights_is_recorded` tells whether the key's change is known already.
 */
export function rightsTriggers(): string {
  const call = (table: RightsTable, kind: string, row: string) =>
    `SELECT rights_change('${table}', '${kind}', ${row}.row_id, ${row}.rights_version, ${row}.rights_mac, ${contentOf(table, row)})`
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
