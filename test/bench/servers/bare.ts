import { createServer, type IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import Database from 'better-sqlite3'
import { createKeccak } from 'hash-wasm'
import { v7 as uuidv7 } from 'uuid'
import { key as keyHex } from '../stage.ts'
import { listen } from './listen.ts'

// What cannot be done without: node:http, JSON.parse, the work itself (as ours does it), JSON.stringify. Nothing is checked.
// `node bare.ts [DATABASE]`: a database that our server has made.

type Work = (body: string, url: string) => unknown

const signing = await signer()
const storing = process.argv[2] === undefined ? {} : store(process.argv[2])
const works: [method: string, path: RegExp, Work][] = [
  ['POST', /\/sign$/, signing.message],
  ['POST', /\/sign-typed-data$/, signing.typedData],
  ...Object.values(storing),
]

const server = createServer((request, response) => {
  const { method, url = '' } = request
  const question = url.indexOf('?')
  const path = question < 0 ? url : url.slice(0, question)
  const work = works.find(([its, pattern]) => its === method && pattern.test(path))?.[2] as Work
  read(request, (body) => {
    const text = JSON.stringify(work(body, url))
    response.writeHead(method === 'POST' && !path.includes('/sign') ? 201 : 200, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(text),
    })
    response.end(text)
  })
})
await listen(server)

function read(request: IncomingMessage, done: (body: string) => void): void {
  if (request.method === 'GET') {
    done('')
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => done(Buffer.concat(chunks).toString('utf8')))
}

async function signer() {
  const native = createRequire(import.meta.url)('secp256k1/bindings')
  const hasher = await createKeccak(256)
  const key = Buffer.from(keyHex.slice(2), 'hex')
  const sign = (...parts: (Uint8Array | string)[]) => {
    hasher.init()
    for (const part of parts) hasher.update(part)
    const { signature, recid } = native.ecdsaSign(hasher.digest('binary'), key)
    const hex = Buffer.from(signature).toString('hex')
    const v = 27 + recid
    return single({ r: `0x${hex.slice(0, 64)}`, s: `0x${hex.slice(64)}`, sig: `0x${hex}${v.toString(16)}`, v })
  }
  const bytes = (hex: string) => Buffer.from(hex.startsWith('0x') ? hex.slice(2) : hex, 'hex')
  return {
    message(body: string) {
      const message = Buffer.from(JSON.parse(body).message, 'utf8')
      return sign(`\x19Ethereum Signed Message:\n${message.length}`, message)
    },
    typedData(body: string) {
      const { domain_separator, hash_struct_message } = JSON.parse(body)
      return sign(Uint8Array.of(0x19, 0x01), bytes(domain_separator), bytes(hash_struct_message))
    },
  }
}

/** The statements are those of our store; each write is a commit of its own, on the disk before it is answered. */
function store(file: string): Record<string, [method: string, path: RegExp, Work]> {
  const db = new Database(file)
  db.pragma('synchronous = FULL')
  const rowIds = new Map(
    (db.prepare('SELECT id, row_id FROM relayers').all() as { id: string; row_id: number }[]).map(({ id, row_id }) => [
      id,
      row_id,
    ]),
  )
  const ends = db.prepare(`
    SELECT (SELECT min(sequence) FROM transactions WHERE relayer_row_id = +?) AS first,
           (SELECT max(sequence) FROM transactions WHERE relayer_row_id = +?) AS last`)
  const range = db.prepare(`
    SELECT id, relayer_id, hash, "from", "to", value, NULL AS data, nonce, gas_limit, gas_price, max_fee_per_gas,
      max_priority_fee_per_gas, status, status_reason, created_at, sent_at, confirmed_at, confirmed_at AS ended_at, signature, speed, receipt,
      error,
      reference, access_list, authorization_list
    FROM transactions WHERE relayer_row_id = +? AND sequence BETWEEN ? AND ? ORDER BY sequence DESC`)
  const columns = 'id, type, url, signing_key IS NOT NULL AS has_signing_key'
  const count = db.prepare('SELECT COUNT(*) FROM notifications').pluck()
  const slice = db.prepare(`SELECT ${columns} FROM notifications ORDER BY row_id LIMIT +? OFFSET +?`)
  const insert = db.prepare('INSERT INTO notifications (id, type, url) VALUES (?, ?, ?)')
  const update = db.prepare('UPDATE notifications SET url = ? WHERE id = ?')
  const byId = db.prepare(`SELECT ${columns} FROM notifications WHERE id = ?`)
  const insertTransaction = db.prepare(`
    INSERT INTO transactions (network, caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, "from", "to", value, nonce, gas_limit, status,
      created_at) VALUES ('local', 'test', 2, '2026-01-01T00:00:00.000Z', ?, ?, ?, ?, 31337, ?, ?, ?, ?, ?, 'pending', ?) RETURNING *`)
  let sequence = 0

  const notification = (row: object) => ({ ...row, has_signing_key: (row as Row).has_signing_key === 1 })
  return {
    listRelayerTransactions: [
      'GET',
      /\/transactions\/$/,
      (_, url) => {
        const rowId = rowIds.get(url.split('/')[4] ?? '')
        const { page, per_page } = pageOf(url)
        const { first, last } = ends.get(rowId, rowId) as { first: number; last: number }
        const to = last - (page - 1) * per_page
        const rows = range.all(rowId, Math.max(first, to - per_page + 1), to) as Row[]
        // As text in a column they would be text in the answer.
        const data = rows.map((row) => ({ ...row, signature: JSON.parse(row.signature) }))
        return list(data, page, per_page, last - first + 1)
      },
    ],
    listNotifications: [
      'GET',
      /\/notifications$/,
      (_, url) => {
        const { page, per_page } = pageOf(url)
        const data = (slice.all(per_page, (page - 1) * per_page) as object[]).map(notification)
        return list(data, page, per_page, count.get() as number)
      },
    ],
    createNotification: [
      'POST',
      /\/notifications$/,
      (body) => {
        const { id = uuidv7(), type = 'webhook', url } = JSON.parse(body)
        insert.run(id, type, url)
        return single({ id, type, url, has_signing_key: false })
      },
    ],
    updateNotification: [
      'PATCH',
      /\/notifications\//,
      (body, url) => {
        const id = url.split('/').at(-1)
        update.run(JSON.parse(body).url, id)
        return single(notification(byId.get(id) as object))
      },
    ],
    sendTransaction: [
      'POST',
      /\/transactions$/,
      (body, url) => {
        const { to, value, gas_limit } = JSON.parse(body)
        const relayerId = url.split('/')[4] ?? ''
        sequence += 1
        const values = [rowIds.get(relayerId), relayerId, sequence, to, to, value, sequence - 1, gas_limit]
        return single(insertTransaction.get(uuidv7(), ...values, new Date().toISOString()))
      },
    ],
  }
}

interface Row {
  signature: string
  speed: string
  has_signing_key: 0 | 1
}

function pageOf(url: string) {
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1))
  return { page: Number(query.get('page') ?? 1), per_page: Number(query.get('per_page') ?? 10) }
}

function single(data: unknown) {
  return { success: true, data, error: '', pagination: { current_page: 1, per_page: 1, total_items: 1 } }
}

function list(data: unknown[], currentPage: number, perPage: number, totalItems: number) {
  return {
    success: true,
    data,
    error: '',
    pagination: { current_page: currentPage, per_page: perPage, total_items: totalItems },
  }
}
