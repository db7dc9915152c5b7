import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { prepareDatabase } from '../../server/store/postgres/prepare-database.ts'

const message = /leads to a connection pooler/

test('names the pooler that refuses the settings of a session at the start', async () => {
  // As PgBouncer answers them (ErrorResponse of the protocol, section "Message Formats").
  const fields = ['SFATAL', 'C08P01', 'Munsupported startup parameter: options', ''].join('\0')
  const server = createServer((socket) => {
    socket.once('data', () => {
      const body = Buffer.from(`${fields}\0`)
      const length = Buffer.alloc(4)
      length.writeInt32BE(body.length + 4)
      socket.end(Buffer.concat([Buffer.from('E'), length, body]))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const url = `postgres://user@127.0.0.1:${port}/database?sslmode=disable`
  await expect(prepareDatabase({ url, allow_weak: [] })).rejects.toThrow(message)
})
