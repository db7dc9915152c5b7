import { connect } from 'node:net'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import pino from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { mountContract, readContract } from '../../server/api/http/contract.ts'
import { yieldToEventLoop } from '../../server/lib/timers.ts'
import { exchange, json, rawRequest } from '../support/raw-http.ts'
import { startTestService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Counts the turns of the event loop until the test ends. */
function countTurns(): () => number {
  let turns = 0
  let counting = true
  const count = async () => {
    for (; counting; turns += 1) await turnOfTheLoop()
  }
  void count()
  onTestFinished(() => {
    counting = false
  })
  return () => turns
}

test('runs steps of long work in the order of arrival, one per turn of the event loop', async () => {
  const turn = countTurns()
  const steps: { name: string; turn: number }[] = []
  const work = async (name: string, count: number) => {
    for (let step = 0; step < count; step += 1) {
      await yieldToEventLoop()
      steps.push({ name, turn: turn() })
    }
  }
  await Promise.all([work('a', 3), work('b', 2), work('c', 1)])
  expect(steps.map(({ name }) => name).join('')).toBe('abcaba')
  expect(new Set(steps.map(({ turn }) => turn)).size).toBe(6)
})

test('parses each of several large bodies in a turn of its own', async () => {
  const { url, api_key } = await startTestService()
  const turn = countTurns()
  const turns: number[] = []
  const body = JSON.stringify({ message: 'x'.repeat(100_000) })
  const text = Buffer.prototype.toString
  vi.spyOn(Buffer.prototype, 'toString').mockImplementation(function (this: Buffer, ...parameters) {
    if (this.length === body.length) turns.push(turn())
    return text.apply(this, parameters)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  const request = rawRequest(
    'POST /api/v1/relayers/demo/sign',
    [`Authorization: Bearer ${api_key}`, ...json(body)],
    body,
  )
  const answers: string[] = []
  const sockets = Array.from({ length: 10 }, () => connect(Number(new URL(url).port), '127.0.0.1'))
  for (const socket of sockets) {
    socket.once('data', (chunk) => answers.push(`${chunk}`.slice(0, 12)))
    onTestFinished(() => void socket.destroy())
    socket.write(request.subarray(0, -1))
  }
  await until('all but the last byte of each is read', () =>
    sockets.every(({ writableLength }) => writableLength === 0),
  )
  for (const socket of sockets) socket.write('}')
  await until('all are answered', () => answers.length === sockets.length)
  expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 200']))
  expect(new Set(turns).size).toBe(sockets.length)
})

test('compiles the checks of each operation in a turn of its own', async () => {
  const contract = await mountContract(readContract(), pino({ level: 'silent' }))
  const { url, api_key } = await startTestService({}, { contract })
  const lists = ['relayers', 'signers', 'networks', 'notifications', 'api-keys', 'audit', 'queues', 'transactions']
  const turn = countTurns()
  const headers = [`Authorization: Bearer ${api_key}`]
  const answers = await Promise.all(lists.map((name) => exchange(url, rawRequest(`GET /api/v1/${name}`, headers))))
  expect(answers.map(({ status }) => status)).toEqual(lists.map(() => 200))
  // One check of the request and one of the response for each.
  expect(turn()).toBeGreaterThanOrEqual(2 * lists.length)
})
