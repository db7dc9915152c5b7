import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startTestService } from '../../support/service.ts'

const folder = join(import.meta.dirname, '..', '..', '..', 'generated', 'console')
const maxFirstLoadBytes = 250 * 1024

test('serves only the console’s files, without a key, compressed, with a strict policy, and stores nothing', async () => {
  const { url } = await startTestService()
  const page = await fetch(`${url}/console`)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const html = await page.text()
  expect((await fetch(`${url}/console/`)).status).toBe(200)
  const assets = [...html.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path]) => path as string)
  expect(assets.length).toBeGreaterThanOrEqual(2)

  let bytes = 0
  for (const path of ['/console', ...assets]) {
    const response = await fetch(url + path)
    const { length } = await response.text()
    const header = (name: string) => response.headers.get(name)
    expect(header('content-encoding'), path).toBe('gzip')
    expect(header('cache-control'), path).toBe('no-store')
    expect(header('x-content-type-options'), path).toBe('nosniff')
    const policy = header('content-security-policy')
    expect(policy, path).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/)
    expect(policy, path).not.toContain('unsafe')
    expect(length, path).toBeGreaterThan(Number(header('content-length')))
    bytes += Number(header('content-length'))
  }
  expect(bytes).toBeLessThan(maxFirstLoadBytes)

  const scripts = readdirSync(join(folder, 'assets')).filter((name) => name.endsWith('.js'))
  for (const name of scripts) {
    const response = await fetch(`${url}/console/assets/${name}`, { headers: { 'Accept-Encoding': 'identity' } })
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(response.headers.get('content-encoding')).toBeNull()
    await response.arrayBuffer()
  }
  expect((await fetch(`${url}/console/assets/none.js`)).status).toBe(401)
  expect((await fetch(`${url}/console/..%2f..%2fpackage.json`)).status).toBe(401)

  const redirect = (path: string) => fetch(`${url}${path}`, { headers: { Accept: 'text/html' }, redirect: 'manual' })
  expect((await redirect('/console/relayers/demo')).headers.get('location')).toBe('/console#/relayers/demo')
  expect((await redirect('/')).headers.get('location')).toBe('/console')
})
