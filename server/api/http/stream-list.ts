import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'

interface List {
  data: unknown[]
}

const rowsAStep = 100
/** The cost of a nested row besides its texts. */
const innerCharacters = 200
/** The amount validated and encoded in one turn of the event loop; it takes some milliseconds. */
const stepCharacters = 500_000

/** Whether a page needs steps. A thousand transactions with a megabyte of data each would block the event loop for seconds. */
export const isLongList = (body: unknown): body is List => {
  const { data } = body as Partial<List>
  return Array.isArray(data) && stepOf(data) < data.length
}

/** The number of rows in the first step. */
function stepOf(data: unknown[]): number {
  let characters = 0
  let rows = 0
  while (rows < data.length && rows < rowsAStep && characters < stepCharacters) {
    characters += widthOf(data[rows])
    rows += 1
  }
  return rows
}

/** A response with a longer text is validated and encoded in a turn of the event loop of its own. */
const longCharacters = 16 * 1024

export function isLong(body: unknown): boolean {
  const { data } = body as { data?: unknown }
  return !Array.isArray(data) && widthOf(data) > longCharacters
}

/**
 * The characters of a row and of its nested rows (a delivery's attempts, each with a response). Once `for...in` has seen an array here,
 * V8 takes seven times as long for every row, which was an eighth of a request for a page of ten.
 */
function widthOf(row: unknown): number {
  let characters = 0
  if (typeof row !== 'object' || Array.isArray(row)) return characters
  for (const name in row) {
    const value = (row as Record<string, unknown>)[name]
    if (typeof value === 'string') characters += value.length
    else if (Array.isArray(value)) for (const inner of value) characters += innerCharacters + widthOf(inner)
  }
  return characters
}

/** Validates and encodes a page in steps and yields to the event loop in between. Encoded rows are released. */
export async function encodeList(body: List, check: (part: List) => void): Promise<Buffer[]> {
  const { data } = body
  const pieces: Buffer[] = []
  const [head = '', tail = ''] = JSON.stringify({ ...body, data: [] }).split('"data":[]', 2)
  let gathered = `${head}"data":[`
  while (data.length > 0) {
    const rows = data.splice(0, stepOf(data))
    check({ ...body, data: rows })
    pieces.push(Buffer.from(`${gathered}${JSON.stringify(rows).slice(1, -1)}${data.length > 0 ? ',' : ''}`))
    gathered = ''
    await yieldToEventLoop()
  }
  pieces.push(Buffer.from(`${gathered}]${tail}`))
  return pieces
}
