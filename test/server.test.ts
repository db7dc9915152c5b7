import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { verifyMessage } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import { spawnService } from './support/process.ts'
import { temporaryFolder } from './support/service.ts'

const run = promisify(execFile)

/** A started service, and where it says that it is. */
async function start({ DATA_DIR = join(temporaryFolder(), 'data') } = {}) {
  const dataDir = DATA_DIR
  const service = spawnService({ DATA_DIR })
  const [, url = ''] = await service.wrote(/API\s+(http:\/\/[^\s/]+)\/api\/v1\n/)
  return { service, data_dir: dataDir, url, port: Number(new URL(url).port) }
}

test('prints true locations and commands at the first start', async () => {
  const { service, data_dir, url } = await start()
  await service.wrote(/"message":"Hello"/)
  const [, keyFile = ''] = await service.wrote(/API key\s+(\S+)\n/)
  const [, database = ''] = await service.wrote(/Data\s+(\S+)\n/)
  const [, docs = ''] = await service.wrote(/Docs\s+(\S+)\n/)

  expect(keyFile).toBe(join(data_dir, 'api-key'))
  expect(database).toBe(join(data_dir, 'relayer.sqlite'))
  for (const file of [keyFile, database, join(data_dir, 'master-key')]) {
    expect({ file, mode: statSync(file).mode & 0o777 }).toEqual({ file, mode: 0o600 })
  }
  const apiKey = readFileSync(keyFile, 'utf8').trim()
  const masterKey = readFileSync(join(data_dir, 'master-key'), 'utf8').trim()
  expect(service.out()).not.toContain(apiKey)
  expect(service.out()).not.toContain(masterKey)
  expect(service.err()).toBe('')

  expect((await fetch(docs)).status).toBe(200)
  await demoAt(url, apiKey)
})

test.each(['data', "it's my data"])('prints a curl command that signs with the demo relayer: %s', async (folder) => {
  const { service, data_dir, url } = await start({ DATA_DIR: join(temporaryFolder(), folder) })
  const [command = ''] = await service.wrote(/curl (?:.|\n)*'\{"message":"Hello"\}'/)
  const { stdout } = await run('sh', ['-c', command])
  const { data } = JSON.parse(stdout)
  expect(data).not.toBe(null)

  const key = readFileSync(join(data_dir, 'api-key'), 'utf8').trim()
  expect(verifyMessage('Hello', data.sig).toLowerCase()).toBe((await demoAt(url, key)).address)
})

async function demoAt(url: string, key: string): Promise<{ address: string }> {
  const answer = await fetch(`${url}/api/v1/relayers/demo`, { headers: { Authorization: `Bearer ${key}` } })
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { data: { address: string } }).data
}

test('keeps the key and the relayer at a second start on the same data', async () => {
  const first = await start()
  const key = readFileSync(join(first.data_dir, 'api-key'), 'utf8').trim()
  const before = await demoAt(first.url, key)
  first.service.signal('SIGTERM')
  expect(await first.service.ended).toBe(0)

  const second = await start({ DATA_DIR: first.data_dir })
  expect(await demoAt(second.url, key)).toEqual(before)
})

/** Whether anybody listens there. */
const connects = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true))
    socket.on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

/** Connects, writes, and waits for the response of the server. */
async function say(port: number, text: string, answer?: string): Promise<Socket & { heard(): string }> {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let heard = ''
  socket.on('data', (chunk) => {
    heard += chunk
  })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(text)
  while (answer !== undefined && !heard.includes(answer)) await once(socket, 'data')
  return Object.assign(socket, { heard: () => heard })
}

test('completes a request in progress after SIGTERM, and exits', async () => {
  const { service, data_dir, port } = await start()
  const key = readFileSync(join(data_dir, 'api-key'), 'utf8').trim()
  const body = '{"message":"Hello"}'
  // "100 Continue" proves that the server has the request and waits for its body.
  const underWay = await say(
    port,
    `POST /api/v1/relayers/demo/sign HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    '100 Continue',
  )
  await say(port, 'GET /api/v1/health HTTP/1.1\r\nHos')
  await say(port, '')
  await say(port, 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n', '"ok"')

  service.signal('SIGTERM')
  await service.wrote(/Stopping/)
  while (await connects(port));

  underWay.write(body)
  await once(underWay, 'close')
  expect(underWay.heard()).toContain('HTTP/1.1 200 OK')
  expect(underWay.heard()).toContain('"sig":"0x')
  expect(await service.ended).toBe(0)
  expect(service.err()).toBe('')
})

test('exits at once on SIGINT with an idle connection', async () => {
  const { service, port } = await start()
  const idle = await say(port, 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n', '"ok"')
  service.signal('SIGINT')
  await once(idle, 'close')
  expect(await service.ended).toBe(0)
})

test('warns of a variable that is nearly a setting where the operator looks', async () => {
  const service = spawnService({ DATA_DIR: temporaryFolder(), DATABSE_URL: 'postgres://nowhere' })
  await service.wrote(/Warning\s+DATABSE_URL is no setting; did you mean DATABASE_URL\?\n/)
})

test.runIf(process.platform === 'linux')('ends at once where no folder can be made', async () => {
  const service = spawnService({ DATA_DIR: '/proc/no-folder/data' })
  expect(await service.ended).toBe(1)
  expect(service.err()).toContain("ENOENT: no such file or directory, mkdir '/proc/no-folder'")
})

test('reports a port that is in use in one line', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const service = spawnService({ DATA_DIR: temporaryFolder(), PORT: String(port) })
  expect(await service.ended).toBe(1)
  expect(service.err()).toBe(
    `The service does not start.\nThe port ${port} is already in use: set PORT to a free port.\n`,
  )
  expect(service.out()).toBe('')
})

test.each([
  ['PORT', { PORT: '80a' }],
  ['RATE_LIMIT_BURST', { RATE_LIMIT_BURST: '0' }],
  ['LOG_LEVEL', { LOG_LEVEL: 'loud' }],
  ['MASTER_KEY', { MASTER_KEY: 'a-secret-that-is-no-key' }],
  ['API_KEY', { API_KEY: 'a-secret-of-29-characters----' }],
  ['API_KEY', { NODE_ENV: 'production' }],
  ['MASTER_KEY', { NODE_ENV: 'production', API_KEY: 'k'.repeat(32) }],
])('names %s: %o, and does not start', async (name, settings) => {
  const dataDir = join(temporaryFolder(), 'data')
  const service = spawnService({ DATA_DIR: dataDir, ...(settings as Record<string, string>) })
  expect(await service.ended).toBe(1)
  expect(service.err()).toMatch(new RegExp(`^${name} must `, 'm'))
  expect(service.err()).not.toMatch(/\n\s+at |a-secret/)
  expect(service.out()).toBe('')
  // Nothing was made before the settings were read.
  expect(statSync(dataDir, { throwIfNoEntry: false })).toBe(undefined)
})
