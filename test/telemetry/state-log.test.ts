import { expect, test } from 'vitest'
import { testChain, testFaultProxy } from '../support/chain.ts'
import { startTestService } from '../support/service.ts'

const base = '/api/v1/relayers/{relayer_id}'
const path = { relayer_id: 'demo' }
const [info, warn] = [30, 40]

test('logs once that a node goes down and up, and why a relayer is disabled', async () => {
  const chain = await testChain()
  const proxy = await testFaultProxy(chain)
  const { client, logged } = await startTestService()
  const url = new URL(`/secret-path?key=secret-key`, proxy.url)
  const body = { rpc_urls: [url.href] }
  await client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body })
  const { data: demo } = await client.get(base, { path })
  await chain.setBalance(demo.address, 10n ** 18n)
  const lines = () => logged.map((line) => JSON.parse(line)).filter(({ msg }) => /^(rpc endpoint|relayer) /.test(msg))
  const ask = () => client.post(`${base}/nonce/reconcile`, { path }).catch(() => undefined)

  await ask()
  await proxy.setFault({ kind: 'http_502_html' })
  for (let call = 0; call < 6; call += 1) await ask()
  const endpoint = { host: url.host, chain_id: 31_337 }
  const down = { level: warn, msg: 'rpc endpoint down', ...endpoint, reason: expect.stringContaining('502') }
  expect(lines()).toEqual([expect.objectContaining(down)])

  await proxy.setFault(undefined)
  await ask()
  await ask()
  const up = { level: info, msg: 'rpc endpoint up', ...endpoint }
  expect(lines().slice(1)).toEqual([expect.objectContaining(up)])

  const to = demo.address
  const query = { wait: 'confirmed', wait_seconds: 20 } as const
  await client.post(`${base}/transactions`, { path, query, body: { to, value: '1' } })
  await chain.restart()
  const wrong = { level: warn, msg: 'rpc endpoint down', reason: 'It is on chain 1 and not on 31337' }
  const askWrongly = async () => {
    // The chain id is asked again after a failure. The relayer's own calls may use up the failure before.
    await proxy.setFault({ kind: 'http_502_html', times: 1 })
    await ask()
    await proxy.setFault({ kind: 'wrong_chain_id' })
    await ask()
    return lines()
  }
  await expect.poll(askWrongly).toContainEqual(expect.objectContaining(wrong))

  await proxy.setFault(undefined)
  await expect.poll(() => client.post(`${base}/nonce/reconcile`, { path }).catch(({ status }) => status)).toBe(409)
  const disabled = { level: warn, msg: 'relayer disabled', relayer_id: 'demo' }
  expect(lines()).toContainEqual(
    expect.objectContaining({ ...disabled, reason: expect.stringContaining('was restarted') }),
  )
  expect(logged.join('')).not.toMatch(/secret-(path|key)/)
})
