import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { hashMessage } from 'ethers'
import { createRelayerClient } from '../../client/index.ts'
import { apiKey } from '../bench/processes.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { withService } from './blocking.ts'
import type { Reached } from './scene.ts'
import { nothingStored, table } from './table.ts'

const tries = 4
/** Of signatures in each try. */
const signatures = 5
const atOnce = 16
/** docs/security.md, Audit trail: 50 ms after the response, or before the next request is handled if that is later. */
const laterMs = 100
const laterAnswers = 2 * atOnce

/** Point 4: kill -9 soon after signatures were answered, while a limited key keeps the process busy. */
export async function killWhileSigning(): Promise<Reached> {
  let lost = 0
  for (let attempt = 0; attempt < tries; attempt += 1) lost += await lostByKill()
  return { found: `${lost} of ${tries * signatures} signatures lost in ${tries} kills`, holds: lost === 0 }
}

function lostByKill(): Promise<number> {
  return withService(async (child, url, folder) => {
    const client = createRelayerClient({ baseUrl: url, token: apiKey, fetch: asOnlyWriter })
    const key = { name: 'limited', scopes: ['sign' as const], relayer_ids: ['demo'] }
    const { token } = (await client.post('/api/v1/api-keys', { body: key })).data
    const stop = new AbortController()
    let answers = 0
    const attack = async () => {
      const [slow] = table.signTypedData?.(nothingStored, 0) ?? []
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
      const init = { method: 'POST', headers, body: slow?.body ?? '', signal: stop.signal }
      while (!stop.signal.aborted) {
        await fetch(`${url}${slow?.path}`, init)
          .then((answer) => answer.arrayBuffer())
          .catch(() => undefined)
        answers += 1
      }
    }
    const attacking = Array.from({ length: atOnce }, attack)
    while (answers < atOnce) await pause(1)
    const messages = Array.from({ length: signatures }, (_, index) => `message ${index}`)
    const path = { relayer_id: 'demo' }
    for (const message of messages) {
      await client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message } })
    }
    const answered = answers
    await pause(laterMs)
    while (answers < answered + laterAnswers) await pause(1)
    child.kill('SIGKILL')
    stop.abort()
    await Promise.all(attacking)
    const db = new Database(join(folder, 'relayer.sqlite'), { timeout: 60_000 })
    const trail = db.prepare<[], string>('SELECT entries FROM audit').pluck().all().join()
    db.close()
    return messages.filter((message) => !trail.includes(hashMessage(message))).length
  })
}
