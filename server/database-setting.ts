import { accessSync, constants } from 'node:fs'
import { resolve } from 'node:path'

/** The database of the service. */
export type DatabaseSetting =
  | { type: 'sqlite'; file: string }
  | {
      type: 'postgres'
      /** Holds the password: it must never be shown. */
      url: string
      max_connections: number
      /** After this long without an answer, the database counts as down. */
      timeout_ms: number
      /** The settings of PostgreSQL that may weaken durability. */
      allow_weak: Weak[]
    }

export type Weak = (typeof weakSettings)[number]

export const weakSettings = ['fsync', 'full_page_writes', 'synchronous_commit'] as const

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full']
const fileParameters = ['sslrootcert', 'sslcert', 'sslkey']
const parameters = ['host', 'application_name', 'sslmode', ...fileParameters]
const postgres = /^postgres(?:ql)?:\/\//i

export const isPostgresUrl = (url: string) => postgres.test(url)

/** The file that a path, or `sqlite:` and a path, names; undefined for anything else. */
export function sqliteFile(url: string): string | undefined {
  const isUrl = /^[a-z][a-z0-9+.-]*:/i.test(url)
  const path = isUrl ? /^(?:sqlite|file):(?:\/\/)?([^/].*|\/[^/].*)$/.exec(url)?.[1] : url
  return path === undefined ? undefined : resolve(path)
}

/** The reason why a URL of PostgreSQL cannot be used, which quotes nothing of it; undefined when it can. */
export function postgresUrlFault(url: string): string | undefined {
  // The host may be empty when `host` names the folder of a socket.
  const full = url.replace(/@\//, '@localhost/')
  if (!URL.canParse(full))
    return 'must be a URL such as postgres://user:password@host:5432/database?sslmode=verify-full'
  const { pathname, searchParams, hash } = new URL(full)
  if (!/^\/[^/]+$/.test(pathname)) return 'must name the database: postgres://user:password@host:5432/database'
  if (hash !== '') return 'must not contain #: write %23 in a password'
  if ([...searchParams.keys()].some((name) => !parameters.includes(name))) {
    return `must have no other parameters than ${parameters.join(', ')}`
  }
  const mode = searchParams.get('sslmode') ?? 'disable'
  if (!sslModes.includes(mode)) return `must have an sslmode of ${sslModes.join(', ')}`
  if (mode === 'verify-ca' && !searchParams.has('sslrootcert')) return 'must have sslrootcert with sslmode=verify-ca'
  return fileParameters.find((name) => searchParams.has(name) && !isReadable(searchParams.get(name) as string))
    ? `must name readable files in ${fileParameters.join(', ')}`
    : undefined
}

/** Whether the password and all rows cross a network without TLS: not to a socket, and not to this machine. */
export function isPlaintext(url: string): boolean {
  const { hostname, searchParams } = new URL(url.replace(/@\//, '@localhost/'))
  const host = searchParams.get('host') ?? hostname
  const isLocal = host.startsWith('/') || /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/.test(host)
  return !isLocal && (searchParams.get('sslmode') ?? 'disable') === 'disable'
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}
