import { mkdtempSync, rmSync } from 'node:fs'
import type { LookupFunction } from 'node:net'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import pino from 'pino'
import { onTestFinished } from 'vitest'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import type { TestOverrides } from '../../server/app/foundation.ts'
import { type Service, startService } from '../../server/app.ts'
import { openPost } from '../../server/chain/post.ts'
import { readConfig } from '../../server/config.ts'
import { compiledContract } from './compiled-contract.ts'
import { dataRoot } from './data-root.ts'
import { asOnlyWriter } from './only-writer.ts'
import { databaseSettings, dropDatabase } from './service-database.ts'

export interface TestService extends Service {
  client: RelayerClient
  /** The data folder. It is removed after the test. */
  data_dir: string
  /** Every line logged so far, at every level. */
  logged: string[]
  /** A request as no client sends it: path, init, with the token unless `headers` are given. */
  raw(path: string, init?: RequestInit): Promise<Response>
}

/** A new folder, which is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(dataRoot, 'relayer-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The node of the network `local`, where a developer's chain may run. */
const developmentNode = 'http://127.0.0.1:8545'

/** A chain that does not respond. Tests that need a chain start one. */
const refuse = async () => {
  throw Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:8545'), { code: 'ECONNREFUSED' })
}

const noLookup: LookupFunction = (_host, _options, answer) => answer(new Error('No name is looked up in tests'), [])

/**
 * A service of the test's own: a fresh database, a free port, settings as the environment gives them (`settings`), and the
 * typed client. It ends with the test.
 */
export async function startTestService(
  settings: Record<string, string> = {},
  world: Omit<TestOverrides, 'logger'> = {},
): Promise<TestService> {
  const dataDir = settings.DATA_DIR ?? temporaryFolder()
  const dropLater = () => onTestFinished(() => dropDatabase(dataDir))
  const database = settings.DATABASE_URL ? {} : await databaseSettings(dataDir, dropLater)
  const logged: string[] = []
  const logger = pino({ level: 'trace' }, new Writable({ write: (line, _, done) => done(void logged.push(`${line}`)) }))
  const config = readConfig({ PORT: '0', DATA_DIR: dataDir, ...database, ...settings })
  const service = await startService(config, {
    // External host names do not resolve, so that tests call no external host.
    lookup: noLookup,
    openPost: (url) => (url === developmentNode ? refuse : openPost(url, world.lookup ?? noLookup)),
    contract: await compiledContract(),
    ...world,
    logger,
  })
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= service.close()
    return closed
  }
  onTestFinished(close)

  return {
    ...service,
    close,
    data_dir: dataDir,
    logged,
    client: createRelayerClient({ baseUrl: service.url, token: service.api_key, fetch: asOnlyWriter }),
    raw: (path, init = {}) =>
      fetch(`${service.url}${path}`, {
        ...init,
        headers: init.headers ?? {
          Authorization: `Bearer ${service.api_key}`,
          'Content-Type': 'application/json',
          'If-Match': '*',
        },
      }),
  }
}
