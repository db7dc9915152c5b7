import cluster from 'node:cluster'
import { flushCompileCache } from 'node:module'
import { relative } from 'node:path'
import { collectAfterLoad, collectBufferGarbage } from './app/garbage.ts'
import { ProcessEnded, type Processes, type Started, startProcesses, tellStarted } from './app/processes.ts'
import { explain } from './app/start-failure.ts'
import { type Config, readConfig } from './config.ts'
import { takeSecrets } from './secret-files.ts'

// Files that this process creates (database, log, keys) are readable by its own user only.
process.umask(0o077)

let service: Pick<Processes, 'close'> | undefined
let stopping = false
const stopped = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
// A cluster worker ends by itself when the primary process ends.
if (process.env.npm_lifecycle_event === 'start' && cluster.isPrimary) stopWithParent()

try {
  const config = readConfig(process.env)
  const started = await start(config, takeSecrets(process.env))
  service = started
  if (stopping) {
    await service.close()
    // The channel to the primary process would keep this one alive.
    process.exit(0)
  }
  if (cluster.isWorker) tellStarted(started)
  else process.stdout.write(greeting(config, started))
} catch (error) {
  if (!(error instanceof ProcessEnded)) process.stderr.write(`The service does not start.\n${explain(error)}\n`)
  process.exit(1)
}

/** `secrets`: for the processes of a cluster, which read them like this one. */
async function start(config: Config, secrets: Record<string, string>): Promise<Processes> {
  if (config.processes > 1 && cluster.isPrimary) {
    return startProcesses(config.processes, secrets, (line) => process.stderr.write(line))
  }
  // The primary process of a cluster serves nothing and must not load the service.
  const { startWithDatabase } = await import('./app.ts')
  const service = await startWithDatabase(config, stopped.signal, (error) =>
    process.stderr.write(`The service waits for the database, and starts when it can be used.\n${explain(error)}\n`),
  )
  if (!service) process.exit(0)
  // Startup leaves garbage that V8 would keep: collecting it once reduces the resident set by 55 MB. For the same reason `npm start` sets
  // --heap-growing-percent (by default V8 collects when the heap has several times its live size, 100 MB more) and --v8-pool-size (each of
  // V8's threads has memory of its own: one in place of four saves 4 MB).
  void service.warm.then(() => {
    flushCompileCache()
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    collectBufferGarbage()
    collectAfterLoad()
  })
  return service
}

function stop(): void {
  if (stopping) return
  stopping = true
  stopped.abort()
  if (cluster.isPrimary) process.stdout.write('Stopping: waiting for requests and background work in progress.\n')
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

function greeting(config: Config, { url: bound, metrics_url, api_key_file: made, demo }: Started): string {
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
