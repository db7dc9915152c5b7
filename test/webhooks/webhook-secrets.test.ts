import { expect, test } from 'vitest'
import { startReceiver } from '../support/receiver.ts'
import { startTestService } from '../support/service.ts'
import { storedBytes } from '../support/service-database.ts'
import { until } from '../support/until.ts'

// Distinct keys for each of a notification's two, so that a key that was replaced is looked for as well.
const kinds = {
  whsec: ['whsec_QzJGVnNCUUlocnNjQ2hsUUlNVmI1c1NZ', 'whsec_c3BvYjdvRGFub3RoZXJrZXlvZjI0Ynl0'],
  base64: ['a2V5LW9mLXRoZS1iYXNlNjQta2luZC1vbmUh', 'a2V5LW9mLXRoZS1iYXNlNjQta2luZC10d28h'],
  hex: ['8f1d5c0e77aa41b29d3e6f50c4b8a1927365544f3e2d1c0b', '0badc0ffee4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f'],
  passphrase: ['correct horse battery staple', 'wrong donkey charger paperclip'],
}

/** As it was given, as the bytes that sign, and both as hex and base64, unpadded and less what depends on what follows. */
function formsOf(key: string): Buffer[] {
  const text = Buffer.from(key)
  const decoded = Buffer.from(key.replace(/^whsec_/, ''), 'base64')
  const encoded = [text, decoded].flatMap((bytes) => [bytes.toString('hex'), bytes.toString('base64').slice(0, -4)])
  return [text, Buffer.from(key.replace(/^whsec_/, '')), decoded, ...encoded.map((form) => Buffer.from(form))]
}

test.each(Object.entries(kinds))(
  'shows no signing key (%s) in the log, in any response or in the database',
  async (_, keys) => {
    const [key, next] = keys as [string, string]
    let failures = 2
    const receiver = await startReceiver((_delivered, response) => {
      failures -= 1
      if (failures >= 0) response.writeHead(500).end('no')
    })
    const service = await startTestService({ WEBHOOK_TIME_SCALE: '0.001' })
    const answers: string[] = []
    const ask = async (method: string, path: string, body?: unknown) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const response = await service.raw(`/api/v1${path}`, { method, ...(text !== undefined && { body: text }) })
      const answer = `${[...response.headers].join('\n')}\n\n${await response.text()}`
      answers.push(answer)
      return { status: response.status, answer }
    }
    const hook = '/notifications/hook'
    const url = receiver.url
    const deliveredTwice = async () => (await ask('GET', `${hook}/health`)).answer.includes('"pending_count":0')

    expect((await ask('POST', '/notifications', { id: 'hook', url, signing_key: key })).status).toBe(201)
    await ask('PATCH', '/relayers/demo', { notification_id: 'hook' })
    await ask('PATCH', '/relayers/demo', { paused: true })
    await until('it is delivered in the end', deliveredTwice)
    await ask('PATCH', hook, { signing_key: next })
    await ask('PATCH', '/relayers/demo', { paused: false })
    await until('it is delivered with both keys', deliveredTwice)
    expect((await ask('POST', `${hook}/test`)).answer).toContain('"http_status":204')
    const { answer } = await ask('GET', `${hook}/deliveries`)
    expect(answer).toContain('"http_status":500')
    const id = /"data":\[\{"id":"([^"]+)"/.exec(answer)?.[1]
    expect((await ask('POST', `${hook}/redeliver`, { delivery_id: id })).status).toBe(200)
    expect((await ask('POST', `${hook}/redeliver`, { status: 'failed', since: '2020-01-01T00:00:00Z' })).status).toBe(
      200,
    )
    await until('it is delivered again', deliveredTwice)
    for (const path of [hook, '/notifications', '/relayers', '/relayers/demo', `${hook}/health`, '/health', '/ready']) {
      expect((await ask('GET', path)).status, path).toBe(200)
    }

    for (const secret of keys) {
      const bad: [string, string, unknown, number][] = [
        ['POST', '/notifications', { id: 'hook', url, signing_key: secret }, 409],
        ['POST', '/notifications', { url: 'ftp://example.com', signing_key: secret }, 400],
        ['POST', '/notifications', { url, signing_key: [secret] }, 400],
        ['POST', '/notifications', { url, signing_key: secret.repeat(40) }, 400],
        ['POST', '/notifications', { url, key: secret }, 400],
        ['POST', '/notifications', { url, type: secret }, 400],
        ['POST', '/notifications', `{"url":"${url}","signing_key":"${secret}`, 400],
        ['POST', '/notifications', `{"signing_key":${secret}}`, 400],
        ['PATCH', hook, { url: `http://user:${encodeURIComponent(secret)}@example.com`, signing_key: secret }, 400],
        ['PATCH', '/notifications/nothing', { signing_key: secret }, 404],
      ]
      for (const [method, path, body, status] of bad) {
        expect((await ask(method, path, body)).status, JSON.stringify(body)).toBe(status)
      }
    }

    const files = await storedBytes(service)
    expect(Buffer.concat(files.map(([, bytes]) => bytes)).includes(url), 'the database was looked at').toBe(true)
    const log = Buffer.from(service.logged.join(''))
    for (const form of keys.flatMap(formsOf)) {
      for (const [name, bytes] of files) expect.soft(bytes.includes(form), `${form} is in ${name}`).toBe(false)
      expect.soft(log.includes(form), `${form} is in the log`).toBe(false)
      for (const one of answers) expect.soft(one.includes(form.toString()), `${form} is in ${one}`).toBe(false)
    }
  },
)
