import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startTestService } from '../../support/service.ts'

test.each(['/api/v1/relayers/demo/sign', '/api/v1/relayers', '/api/v1/nothing'])(
  'answers a request once whose body breaks off while its token is checked: %s',
  async (path) => {
    const service = await startTestService()
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
    })
    // The headers and the chunk that is none arrive together: the refusal comes before the first check has ended.
    const method = path.endsWith('relayers') ? 'DELETE' : 'POST'
    socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.api_key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n`,
    )
    await once(socket, 'close')
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
    expect(answer).toContain('"code":"invalid_request"')
    await service.close()
    expect(service.logged.filter((line) => JSON.parse(line).level >= 50)).toEqual([])
  },
)
