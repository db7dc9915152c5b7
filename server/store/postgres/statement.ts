import { createHash } from 'node:crypto'
import type { Statement, Value, Values } from '../rules/statement.ts'

/** A statement as pg takes it. It is prepared once on each connection, by its name. */
interface Numbered {
  name: string
  /** With parameters of the form `$1`. */
  text: string
  parameters: readonly string[]
}

const known = new WeakMap<Statement<object>, Numbered>()

export function numbered(statement: Statement<object>): Numbered {
  const its = known.get(statement) ?? numberParameters(statement.text.postgres)
  known.set(statement, its)
  return its
}

function numberParameters(text: string): Numbered {
  const parameters: string[] = []
  const numbers = text.replace(/\$([a-z]\w*)/g, (_, name: string) => {
    if (!parameters.includes(name)) parameters.push(name)
    return `$${parameters.indexOf(name) + 1}`
  })
  const name = createHash('sha256').update(numbers).digest('base64url').slice(0, 32)
  return { name, text: numbers, parameters }
}

/** The query of pg, with the values in the order of the parameters. */
export function queryOf(statement: Statement<object>, values: Values): { name: string; text: string; values: Value[] } {
  const { name, text, parameters } = numbered(statement)
  return {
    name,
    text,
    values: parameters.map((parameter) => {
      const value = values[parameter]
      // PostgreSQL stores no U+0000. The contract takes it nowhere; a message of a node may have it.
      if (typeof value === 'string') return value.replaceAll('\u0000', '\ufffd')
      if (value === undefined)
        throw new Error(`The parameter ${parameter} has no value in: ${text.trim().slice(0, 200)}`)
      return value
    }),
  }
}

/**
 * A parameter for json_to_recordset. Bytes are hex. PostgreSQL takes neither U+0000 nor half of a surrogate pair in JSON; texts of nodes may
 * have them.
 */
export function records(rows: readonly object[]): string {
  const text = JSON.stringify(rows.map(withHex))
  return unstorable.test(text) ? JSON.stringify(JSON.parse(text), storable) : text
}

function withHex(row: object): object {
  const names = Object.keys(row) as (keyof typeof row)[]
  if (!names.some((name) => (row[name] as unknown) instanceof Uint8Array)) return row
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    ]),
  )
}

const unstorable = /\\u(?:0000|d[89a-f])/
const storable = (_name: string, value: unknown) =>
  typeof value === 'string' ? value.replaceAll('\u0000', '\ufffd').toWellFormed() : value
