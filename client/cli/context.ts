import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { createRelayerClient, type RelayerClient } from '../index.ts'
import { CommandError } from './exit-codes.ts'
import { printer } from './print.ts'

/** The context of a command: its client and its output. */
export interface Context {
  url: string
  token: string
  client: RelayerClient
  print: ReturnType<typeof printer>
  /** --relayer or RELAYER_ID. */
  relayer_id: string | undefined
  /** The one of --relayer or RELAYER_ID, or the only one that the API key sees. */
  relayerId(): Promise<string>
}

export interface GlobalOptions {
  url?: string
  relayer?: string
  json?: boolean
}

const defaultUrl = 'http://127.0.0.1:8080'

/** As it is given, without the path of the API. */
export const serviceUrl = (options: GlobalOptions, env: NodeJS.ProcessEnv): string =>
  (options.url ?? env.RELAYER_URL ?? defaultUrl).replace(/\/+$/, '').replace(/\/api\/v1$/, '')

export function createContext(options: GlobalOptions, env: NodeJS.ProcessEnv): Context {
  const url = serviceUrl(options, env)
  const token = env.RELAYER_API_KEY?.trim() ?? ''
  if (token === '')
    throw new CommandError(
      'RELAYER_API_KEY is not set: it must hold the API key, for example that of the first start: export RELAYER_API_KEY=$(cat data/api-key)',
    )
  if (!URL.canParse(url)) throw new CommandError(`RELAYER_URL must be a URL, for example ${defaultUrl}; it is ${url}`)
  const client = createRelayerClient({ baseUrl: url, token })
  const relayerId = options.relayer ?? (env.RELAYER_ID || undefined)
  return {
    url,
    token,
    client,
    print: printer(options.json === true),
    relayer_id: relayerId,
    async relayerId() {
      if (relayerId !== undefined) return relayerId
      const { data, pagination } = await client.get('/api/v1/relayers', { query: { per_page: 2 } })
      const [only] = data
      if (only && pagination.total_items === 1) return only.id
      throw new CommandError(`--relayer or RELAYER_ID must name a relayer: the API key sees ${pagination.total_items}`)
    },
  }
}

/** The text of a file, or of standard input for `-`. */
export const readInput = async (file: string): Promise<string> => new TextDecoder().decode(await readInputBytes(file))

export const readInputBytes = async (file: string): Promise<Uint8Array> => {
  if (file === '-') return buffer(process.stdin)
  try {
    return readFileSync(file)
  } catch (error) {
    throw new CommandError(`The file ${file} cannot be read: ${(error as Error).message}`)
  }
}

/** A secret from a file or from standard input: never from an argument, which other users of the machine can see. */
export const readSecret = async (file: string): Promise<string> => {
  const secret = (await readInput(file)).replace(/\r?\n$/, '')
  if (secret === '') throw new CommandError(`${file === '-' ? 'Standard input' : file} is empty`)
  return secret
}

export function parseJson(input: string, place: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    throw new CommandError(`${place} must be JSON`)
  }
}
