import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { JsonRpcProvider } from 'ethers'
import express from 'express'
import { build } from 'vite'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../support/service.ts'
import { newUser, sponsoredRig } from '../support/sponsorship.ts'
import { startBrowser } from './start-browser.ts'

const source = join(import.meta.dirname, '..', '..', 'client', 'examples', 'sponsored-page')

/** Serves the built page with these data attributes. Resolves to its origin. */
async function servePage(data: Record<string, string>): Promise<string> {
  const outDir = temporaryFolder()
  await build({ root: source, build: { outDir, emptyOutDir: true }, logLevel: 'warn', configFile: false })
  const file = join(outDir, 'index.html')
  const page = Object.entries(data).reduce(
    (text, [name, value]) => text.replace(new RegExp(`data-${name}="[^"]*"`), `data-${name}="${value}"`),
    readFileSync(file, 'utf8'),
  )
  writeFileSync(file, page)
  const server = express().use(express.static(outDir)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a visitor plays in a browser, and pays nothing', async () => {
  const its = await sponsoredRig({ user_limits: { max_calls_per_day: 1 }, origins: [] })
  const { rig, forwarder, game, token, client } = its
  const origin = await servePage({ relayer: rig.url(), key: token, 'chain-id': '31337', forwarder, game })
  const browser = await startBrowser()
  onTestFinished(() => browser.close())
  const user = newUser()
  const chain = new JsonRpcProvider(rig.chain.url)
  const context = await browser.newContext()
  // The wallet of the visitor (EIP-1193), which asks nobody.
  await context.exposeFunction('wallet', async (method: string, params: string[]) => {
    if (method === 'eth_requestAccounts') return [user.address]
    if (method !== 'eth_signTypedData_v4') return chain.send(method, params)
    const { domain, types, message } = JSON.parse(params[1] ?? '')
    const { EIP712Domain: _, ...signed } = types
    return user.signTypedData(domain, signed, message)
  })
  await context.addInitScript('window.ethereum = { request: ({ method, params }) => wallet(method, params) }')
  const page = await context.newPage()
  await page.goto(origin)
  const button = page.getByRole('button', { name: 'Play' })
  const status = page.getByRole('status')

  // Its origin is not listed yet: the browser itself refuses.
  await button.click()
  await expect.poll(() => status.textContent()).toBe('Failed to fetch')
  await client.sponsorships.update('game', { origins: [origin] })
  await button.click()
  await expect.poll(() => status.textContent()).toMatch(/^played in block \d+$/)
  expect(await its.plays(user.address)).toBe(1n)
  expect(await chain.getBalance(user.address)).toBe(0n)
  await button.click()
  await expect
    .poll(() => status.textContent())
    .toContain('One more call is above the remaining 0 of the daily limit of 1')
})
