import { setImmediate as turn } from 'node:timers/promises'

/** A page as it goes over the wire, in one piece or in several. */
export interface EncodedList {
  pieces: Buffer[]
  /** What is wrong with it by the contract; undefined when nothing is. */
  broken: string | undefined
}

interface List {
  data: unknown[]
}

const rows_a_step = 10
/** Of what is encoded in one turn of the event loop: some milliseconds. */
const turn_characters = 500_000

/** Whether a page is worth steps: a thousand transactions with a megabyte of data each would stop all others for seconds. */
export const isLongList = (body: unknown): body is List => {
  const { data } = body as Partial<List>
  return Array.isArray(data) && data.length > rows_a_step
}

/** Checks and encodes a page in steps between which others have their turn. The rows are let go as they are encoded. */
export async function encodeList(body: List, check: (part: List) => string | undefined): Promise<EncodedList> {
  const { data } = body
  const pieces: Buffer[] = []
  const [head = '', tail = ''] = JSON.stringify({ ...body, data: [] }).split('"data":[]', 2)
  let gathered = `${head}"data":[`
  while (data.length > 0) {
    const rows = data.splice(0, rows_a_step)
    const broken = check({ ...body, data: rows })
    if (broken !== undefined) return { pieces: [], broken }
    gathered += `${JSON.stringify(rows).slice(1, -1)}${data.length > 0 ? ',' : ''}`
    if (gathered.length < turn_characters) continue
    pieces.push(Buffer.from(gathered))
    gathered = ''
    await turn()
  }
  pieces.push(Buffer.from(`${gathered}]${tail}`))
  return { pieces, broken: undefined }
}
