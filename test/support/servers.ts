import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { startService } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { compiledContract } from './compiled-contract.ts'
import { dataRoot } from './data-root.ts'
import { asOnlyWriter } from './only-writer.ts'

export interface Server {
  url: string
  client: RelayerClient
}

export const serversApiKey = 'servers-'.repeat(5)

/** Several services of this process on one PostgreSQL database; `database_urls`: one for each. */
export async function startServers(
  databaseUrls: string[],
  settings: Record<string, string> = {},
): Promise<{ servers: Server[]; stop(): Promise<void> }> {
  const dataDir = mkdtempSync(join(dataRoot, 'relayer-servers-'))
  const contract = await compiledContract()
  const services = await Promise.all(
    databaseUrls.map((url) => {
      const own = {
        PORT: '0',
        DATA_DIR: dataDir,
        DATABASE_URL: url,
        API_KEY: serversApiKey,
        MASTER_KEY: '5a'.repeat(32),
      }
      return startService(readConfig({ ...own, ...settings }), { contract, logger: pino({ level: 'silent' }) })
    }),
  )
  return {
    servers: services.map(({ url }) => ({
      url,
      client: createRelayerClient({ baseUrl: url, token: serversApiKey, fetch: asOnlyWriter }),
    })),
    async stop() {
      await Promise.all(services.map((service) => service.close()))
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
