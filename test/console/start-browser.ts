import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const browserFile = process.env.CHROMIUM ?? '/usr/bin/chromium'
const root = join(import.meta.dirname, '..', '..')

export async function startBrowser(): Promise<Browser> {
  if (!existsSync(browserFile))
    throw new Error(`There is no browser at ${browserFile}: install Debian's chromium, or name another in CHROMIUM.`)
  if (!existsSync(join(root, 'generated', 'console', 'index.html')))
    throw new Error('There is no generated/console: run `npm run build:console`.')
  return chromium.launch({
    executablePath: browserFile,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync', '--no-proxy-server'],
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  })
}
