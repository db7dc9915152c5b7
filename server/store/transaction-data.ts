/** In a column list: the data that the row of a table names. */
export const dataColumn = (table: string): string =>
  `(SELECT data FROM transaction_data WHERE row_id = ${table}.data_row_id) AS data`

export const hexOf = (data: Uint8Array | null): string | null =>
  data === null ? null : `0x${Buffer.from(data.buffer, data.byteOffset, data.length).toString('hex')}`

/** The member `data` in JSON without it. A text inside a string cannot be taken for it, because its quotes are escaped there. */
const absent = '"data":null'

/** Completes JSON that was stored without its data. */
export function withData(json: string, data: Uint8Array | null): string {
  if (data === null) return json
  const at = json.indexOf(absent)
  if (at < 0) throw new Error('Stored JSON has no place for its data')
  return `${json.slice(0, at)}"data":"${hexOf(data)}"${json.slice(at + absent.length)}`
}
