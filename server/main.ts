import { flushCompileCache } from 'node:module'
import { relative } from 'node:path'
import { collectAfterLoad, collectBufferGarbage } from './app/garbage.ts'
import { explain } from './app/start-failure.ts'
import type { Service } from './app.ts'
import { type Config, readConfig } from './config.ts'
import { removeSecrets } from './secret-files.ts'

// Files that this process creates (database, log, keys) are readable by its own user only.
process.umask(0o077)

const words = process.argv.slice(2)
if (words.length > 0) {
  const isHelpWanted = words.some((word) => word === '--help' || word === '-h')
  process.stdout.write(
    'Usage: npm start\nIt takes no arguments: its settings are environment variables, see docs/settings.md.\n',
  )
  process.exit(isHelpWanted ? 0 : 1)
}

let service: Service | undefined
let stopping = false
const stopped = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
if (process.env.npm_lifecycle_event === 'start') stopWithParent()

try {
  const config = readConfig(process.env)
  removeSecrets(process.env)
  // A fault of the settings is told at once: loading the service takes half a second.
  const { startWithDatabase } = await import('./app.ts')
  service = await startWithDatabase(config, stopped.signal, (error) =>
    process.stderr.write(`The service waits for the database, and starts when it can be used.\n${explain(error)}\n`),
  )
  if (!service) process.exit(0)
  tidyAfterStart(service)
  if (stopping) {
    await service.close()
    process.exit(0)
  }
  process.stdout.write(greeting(config, service))
} catch (error) {
  process.stderr.write(`The service does not start.\n${explain(error)}\n`)
  process.exit(1)
}

/**
 * Startup leaves garbage that V8 would keep: collecting it once reduces the resident set by 55 MB. For the same reason `npm start` sets
 * --heap-growing-percent (by default V8 collects when the heap has several times its live size, 100 MB more) and --v8-pool-size (each of
 * V8's threads has memory of its own: one in place of four saves 4 MB).
 */
function tidyAfterStart(service: Service): void {
  void service.warm.then(() => {
    flushCompileCache()
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    collectBufferGarbage()
    void collectAfterLoad(service.untilQuiet)
  })
}

function stop(): void {
  if (stopping) return
  stopping = true
  stopped.abort()
  process.stdout.write('Stopping: waiting for requests and background work in progress.\n')
  void service?.close().then(
    () => process.exit(0),
    (error) => {
      process.stderr.write(`The service did not stop in order.\n${explain(error)}\n`)
      process.exit(1)
    },
  )
}

/**
 * npm runs this process through a shell. It sends signals to the shell, which does not forward them, so the end of the parent
 * process is the only sign to stop.
 */
function stopWithParent(): void {
  const parent = process.ppid
  setInterval(() => process.ppid !== parent && stop(), 500).unref()
}

function greeting(config: Config, { url: bound, metrics_url, api_key_file: made, demo }: Service): string {
  const apiKeyFile = made ?? (process.env.API_KEY_FILE || undefined)
  const url = bound.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
  const near = (file: string) => {
    const path = relative(process.cwd(), file)
    return path.startsWith('..') ? file : path
  }
  const key = apiKeyFile ? near(apiKeyFile) : 'as set in API_KEY'
  const lines = [
    'The relayer service is ready.',
    `  API      ${url}/api/v1`,
    `  Console  ${url}/console`,
    `  Docs     ${url}/docs`,
    `  Data     ${config.database.type === 'sqlite' ? near(config.database.file) : 'PostgreSQL'}`,
    `  API key  ${key}`,
  ]
  if (metrics_url) lines.push(`  Metrics  ${metrics_url}`)
  for (const warning of config.unknown_settings) lines.push(`  Warning  ${warning}`)
  if (demo) {
    const token = apiKeyFile ? `$(cat ${quoted(near(apiKeyFile))})` : '$API_KEY'
    lines.push(
      '  Sign something with the relayer `demo`:',
      `    curl -s ${url}/api/v1/relayers/demo/sign \\`,
      `      -H "Authorization: Bearer ${token}" \\`,
      `      -H "Content-Type: application/json" -d '{"message":"Hello"}'`,
    )
  }
  return `${lines.join('\n')}\n`
}

/** Quotes a path for a POSIX shell. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
