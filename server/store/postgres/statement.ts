import { createHash } from 'node:crypto'

export type Value = string | number | bigint | null | Uint8Array | readonly (string | number | Uint8Array | null)[]
export type Values = Readonly<Record<string, Value>>

/** A statement with parameters of the form `$name`. It is prepared once on each connection. */
export interface Statement<Row extends object> {
  name: string
  /** With parameters of the form `$1`. */
  text: string
  parameters: readonly string[]
  /** Only its type is used. */
  readonly row?: Row
}

/** `Row`: the type of the rows that it returns; absent: none. */
export function sql<Row extends object = Record<never, never>>(text: string): Statement<Row> {
  const parameters: string[] = []
  const numbered = text.replace(/\$([a-z]\w*)/g, (_, name: string) => {
    if (!parameters.includes(name)) parameters.push(name)
    return `$${parameters.indexOf(name) + 1}`
  })
  const name = createHash('sha256').update(numbered).digest('base64url').slice(0, 32)
  return { name, text: numbered, parameters }
}

/** The values in the order of the parameters. */
export function bind({ text, parameters }: Statement<object>, values: Values): Value[] {
  return parameters.map((name) => {
    const value = values[name]
    // PostgreSQL stores no U+0000. The contract takes it nowhere; a message of a node may have it.
    if (typeof value === 'string') return value.replaceAll('\u0000', '\ufffd')
    if (value === undefined) throw new Error(`The parameter ${name} has no value in: ${text.trim().slice(0, 200)}`)
    return value
  })
}

/**
 * A parameter for json_to_recordset. PostgreSQL takes neither U+0000 nor half of a surrogate pair in JSON; texts of nodes may have them.
 */
export function records(rows: readonly object[]): string {
  const text = JSON.stringify(rows)
  return unstorable.test(text) ? JSON.stringify(rows, storable) : text
}

const unstorable = /\\u(?:0000|d[89a-f])/
const storable = (_name: string, value: unknown) =>
  typeof value === 'string' ? value.replaceAll('\u0000', '\ufffd').toWellFormed() : value
