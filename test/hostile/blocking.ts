import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { api_key, inFolder } from '../bench/processes.ts'
import { type ContractOperation, operations } from '../support/contract.ts'
import { prepareDemo } from './demo.ts'
import type { Finding } from './finding.ts'
import { bodiesOf } from './shapes.ts'
import { type Wide, wideRequests } from './wide.ts'

const max_block_ms = 50
/** Others use the machine too: what the service costs is the least of some tries. */
const tries = 5
const root = join(import.meta.dirname, '..', '..')

/** How long a body of any shape stops all others. */
export const bodies = (): Promise<Finding[]> =>
  withService(async (child, url) => {
    const findings: Finding[] = []
    for (const operation of operations.filter(({ bodies }) => Object.keys(bodies).length > 0)) {
      const all = [...bodiesOf(operation)].map(
        ({ name, text }): Wide => ({ ...requestOf(operation), name, body: text }),
      )
      findings.push(await worstOf(operation.id, child, url, all))
    }
    return findings
  })

/** How long a request does that is about much of what is stored. */
export const lists = (): Promise<Finding[]> =>
  withService(async (child, url, folder) => {
    const findings: Finding[] = []
    for (const [name, requests] of Object.entries(await wideRequests(url, folder))) {
      findings.push(await worstOf(name, child, url, requests))
    }
    return findings
  })

function withService<T>(work: (child: ChildProcess, url: string, folder: string) => Promise<T>): Promise<T> {
  return inFolder(async (folder) => {
    const child = spawnService(folder)
    try {
      const url = await urlOf(child)
      await prepareDemo(url)
      return await work(child, url, folder)
    } finally {
      child.kill('SIGKILL')
    }
  })
}

async function worstOf(what: string, child: ChildProcess, url: string, requests: Wide[]): Promise<Finding> {
  let worst = { name: '', block_ms: 0 }
  for (const request of requests) {
    let block_ms = Number.POSITIVE_INFINITY
    for (let attempt = 0; attempt < tries && block_ms > worst.block_ms; attempt += 1) {
      block_ms = Math.min(block_ms, await blockOf(child, url, request))
    }
    if (block_ms > worst.block_ms) worst = { name: request.name, block_ms }
  }
  return {
    what: `${what} (${requests.length}), worst: ${worst.name}`,
    found: `${worst.block_ms.toFixed(0)} ms`,
    wanted: `under ${max_block_ms} ms`,
    holds: worst.block_ms < max_block_ms,
  }
}

async function blockOf(child: ChildProcess, url: string, request: Wide): Promise<number> {
  const { method, path, body, type } = request
  await longest(child)
  // The first look after that begins to measure.
  await pause(5)
  const headers = { Authorization: `Bearer ${api_key}`, ...(body !== undefined && { 'Content-Type': type }) }
  const answer = await fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body }) })
  await answer.arrayBuffer()
  if (answer.status >= 500 && answer.status !== 503) throw new Error(`${method} ${path} answers ${answer.status}`)
  if (request.succeeds && !answer.ok) throw new Error(`${method} ${path} answers ${answer.status}`)
  await pause(3)
  return longest(child)
}

async function longest(child: ChildProcess): Promise<number> {
  child.send('?')
  const [{ longest_ms }] = await once(child, 'message')
  return longest_ms
}

const requestOf = ({ method, path, bodies }: ContractOperation) => ({
  method,
  path: path
    .replace('{relayer_id}', 'demo')
    .replace('{network_id}', 'evm:local')
    .replaceAll(/\{\w+\}/g, 'none'),
  type: Object.keys(bodies)[0] as string,
})

function spawnService(folder: string): ChildProcess {
  const { PATH = '' } = process.env
  const hook = join(import.meta.dirname, 'blocks.ts')
  return spawn(process.execPath, ['--import', hook, 'server/main.ts'], {
    cwd: root,
    env: {
      ...{ PATH, NODE_ENV: 'production', PORT: '0', DATA_DIR: folder, API_KEY: api_key, MASTER_KEY: '11'.repeat(32) },
      ...{ ALLOW_PRIVATE_TARGETS: 'true', RATE_LIMIT_BURST: '10000000' },
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
}

function urlOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The service ended with ${code}`)))
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      const url = /API\s+(http:\/\/[^\s/]+)\/api\/v1\n/.exec(text)?.[1]
      if (url) resolve(url)
    })
  })
}
