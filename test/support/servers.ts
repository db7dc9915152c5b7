import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { startService } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { compiledContract } from './compiled-contract.ts'
import { dataRoot } from './data-root.ts'

export interface Server {
  url: string
  client: RelayerClient
}

export const servers_api_key = 'servers-'.repeat(5)

/** Several services of this process on one PostgreSQL database; `database_urls`: one for each. */
export async function startServers(
  database_urls: string[],
  settings: Record<string, string> = {},
): Promise<{ servers: Server[]; stop(): Promise<void> }> {
  const data_dir = mkdtempSync(join(dataRoot, 'relayer-servers-'))
  const contract = await compiledContract()
  const services = await Promise.all(
    database_urls.map((url) => {
      const own = {
        PORT: '0',
        DATA_DIR: data_dir,
        DATABASE_URL: url,
        API_KEY: servers_api_key,
        MASTER_KEY: '5a'.repeat(32),
      }
      return startService(readConfig({ ...own, ...settings }), { contract, logger: pino({ level: 'silent' }) })
    }),
  )
  return {
    servers: services.map(({ url }) => ({
      url,
      client: createRelayerClient({ baseUrl: url, token: servers_api_key }),
    })),
    async stop() {
      await Promise.all(services.map((service) => service.close()))
      rmSync(data_dir, { recursive: true, force: true })
    },
  }
}
