import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Load, LoadRequest, Taken } from './load-types.ts'

/** Debian's package `wrk`. */
export const hasWrk = (): boolean => spawnSync('wrk', ['-v']).error === undefined

/** As fast as answers come, the requests in turn, by wrk on one thread. */
export async function wrk({ url, requests, connections, seconds }: Load): Promise<Taken> {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-bench-'))
  try {
    const script = join(folder, 'requests.lua')
    writeFileSync(script, lua(requests))
    const args = ['-t', '1', '-c', `${connections}`, '-d', `${seconds}s`, '--timeout', '30s', '-s', script, url]
    const { stdout } = await promisify(execFile)('wrk', args)
    const { count, p50_us, p99_us, failed } = JSON.parse(stdout.slice(stdout.lastIndexOf('{')))
    return {
      count,
      p50_ms: p50_us / 1_000,
      p99_ms: p99_us / 1_000,
      failed: failed > 0 ? [`${failed} by wrk's count`] : [],
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const lua = (requests: LoadRequest[]): string => `
local requests, at = {}, 0
function init()
${requests.map((request) => `  table.insert(requests, ${format(request)})`).join('\n')}
end
function request()
  at = at % #requests + 1
  return requests[at]
end
function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('{"count":%d,"p50_us":%d,"p99_us":%d,"failed":%d}', summary.requests,
    latency:percentile(50), latency:percentile(99), failed))
end
`

/** Everything in them is ASCII, so that text is written in Lua as it is in JSON. */
function format({ method, path, headers, body }: LoadRequest): string {
  const fields = Object.entries(headers).map(([name, value]) => `[${text(name)}] = ${text(value)}`)
  return `wrk.format(${text(method)}, ${text(path)}, { ${fields.join(', ')} }, ${body === undefined ? 'nil' : text(body)})`
}

const text = (value: string) => JSON.stringify(value)
