import { connect } from 'node:net'

export interface RawAnswer {
  status: number
  /** Names in lower case. */
  headers: Record<string, string>
  text: string
}

/** A request as bytes: no client tidies up the path, the headers or the body. `headers`: whole lines. */
export function rawRequest(line: string, headers: string[] = [], body: string | Buffer = ''): Buffer {
  const head = [`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n')
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)])
}

/** Content-Type and Content-Length of a JSON body. */
export const json = (body: string | Buffer): string[] => [
  'Content-Type: application/json',
  `Content-Length: ${Buffer.byteLength(body)}`,
]

/** Sends the bytes over a connection of their own and gives the first whole answer (1xx left out). */
export function exchange(url: string, bytes: string | Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    let received = Buffer.alloc(0)
    let answer: RawAnswer | undefined
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      answer = parse(received)
      if (answer) socket.destroy()
    })
    // A server that answers and closes before it has read everything resets the connection; the answer stands.
    socket.on('error', (error) => answer ?? reject(error))
    socket.on('close', () => (answer ? resolve(answer) : reject(new Error(`No whole answer: ${received}`))))
  })
}

function parse(received: Buffer): RawAnswer | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [line = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n')
  const status = Number(line.split(' ')[1])
  const rest = received.subarray(end + 4)
  if (status < 200) return parse(rest)
  const headers: Record<string, string> = {}
  for (const text of lines) {
    const [, name = '', value = ''] = /^([^:]*):\s*(.*)$/.exec(text) ?? []
    headers[name.toLowerCase()] = value
  }
  const length = Number(headers['content-length'] ?? 0)
  const body = headers['transfer-encoding'] === 'chunked' ? unchunked(rest) : wholeOf(rest, length)
  return body && { status, headers, text: body.toString('utf8') }
}

const wholeOf = (bytes: Buffer, length: number) => (bytes.length < length ? undefined : bytes.subarray(0, length))

function unchunked(bytes: Buffer): Buffer | undefined {
  const end = bytes.indexOf('\r\n')
  if (end < 0) return undefined
  const length = Number.parseInt(bytes.subarray(0, end).toString('latin1'), 16)
  const chunk = wholeOf(bytes.subarray(end + 2), length + 2)?.subarray(0, length)
  if (length === 0) return chunk
  const others = chunk && unchunked(bytes.subarray(end + 4 + length))
  return others && Buffer.concat([chunk, others])
}
