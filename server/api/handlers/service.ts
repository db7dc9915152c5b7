import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DomainError } from '../../domain/errors.ts'
import type { Handlers } from '../../domain/operation.ts'
import type { KeyFault } from '../../domain/rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import type { ServicesContext } from '../../services/context.ts'
import { detailOf } from '../http/errors.ts'

type Dependencies = Pick<ServicesContext, 'store' | 'now' | 'unready' | 'incidents' | 'keyServiceStates' | 'version'>

/** The commit of the source archive of a release, into which git writes it; null in a checkout. */
const { commit } = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'build.json'), 'utf8'))
const build: string | null = /^[0-9a-f]{40}$/.test(commit) ? commit : null

/** The state of this server, of its database and of the servers beside it. */
export function service({ store, now, unready, incidents, keyServiceStates, version }: Dependencies) {
  const name = `${hostname()} ${process.pid}`
  const iso = (ms: number) => new Date(ms).toISOString()
  const shown = ({ at, reason, ...fault }: KeyFault) => ({ ...fault, at: iso(at), message: reason })
  return {
    async getServiceState() {
      const asked = performance.now()
      await yieldToEventLoop()
      const started = performance.now()
      const eventLoopMs = Math.round(started - asked)
      const facts = await store.databaseFacts()
      const database = { ...facts, response_ms: Math.round(performance.now() - started) }
      const [servers, reasons, noticed] = await Promise.all([store.servers(), unready(), incidents()])
      return {
        name,
        version,
        commit: build,
        node_version: process.versions.node,
        started_at: iso(Math.round(now() - process.uptime() * 1_000)),
        memory_bytes: process.memoryUsage.rss(),
        event_loop_ms: eventLoopMs,
        not_ready: reasons.map(detailOf),
        database,
        servers: servers.map((its) => ({ ...its, started_at: iso(its.started_at), is_this: its.name === name })),
        key_services: keyServiceStates().map(({ last_call_at, failing, last_error, ...its }) => ({
          ...its,
          last_call_at: last_call_at === null ? null : iso(last_call_at),
          failing: failing.map(shown),
          last_error: last_error && shown(last_error),
        })),
        incidents: noticed.map(({ at, text, ...its }) => ({ at: iso(at), ...its, message: text })),
      }
    },
  } satisfies Partial<Handlers>
}

export function health({ unready }: Pick<ServicesContext, 'unready'>) {
  return {
    getHealth: async () => ({ status: 'ok' }),
    async getReadiness() {
      const reasons = await unready()
      if (reasons.length > 0) throw new DomainError('unavailable', reasons)
      return { status: 'ok' }
    },
  } satisfies Partial<Handlers>
}
