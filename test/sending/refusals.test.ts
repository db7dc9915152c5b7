import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Transaction } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import type { Anvil } from '../support/anvil.ts'
import { testFaultProxy } from '../support/chain.ts'
import { clean } from '../support/ledger.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

test('sends every transaction through the second node when the first one rejects all, and none fails', async () => {
  const { chain, proxy, client, addAccount } = await testRig({ chain: { noMining: true } })
  const sound = await testFaultProxy(chain)
  // The second one is called only when the first one fails.
  const rpcUrls = [
    { url: proxy.url, weight: 100 },
    { url: sound.url, weight: 0 },
  ]
  await client().patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: rpcUrls },
  })
  const account = await addAccount()
  await proxy.setFault({ kind: 'rejected' })
  await account.send(30)
  await account.finished(chain.mine)
  expect(proxy.counts().rejected).toBeGreaterThan(0)
  expect(await account.score()).toEqual(clean(30))
})

test('keeps a transaction waiting that the only node rejects, without another signature, and sends it when the node accepts it', async () => {
  const { chain, proxy, client, addAccount } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  const path = { relayer_id: account.relayer_id }
  await proxy.setFault({ kind: 'rejected' })
  const [first] = await account.send(2)
  const row = async () => (await account.transactions()).at(-1)
  await until('it says why', async () => (await row())?.status_reason?.startsWith('Waits: ') ?? false)
  const contradicted = `Waits: the node says "invalid sender", although the signature recovers to ${account.address}`
  expect(await row()).toMatchObject({ id: first?.id, status: 'sent', status_reason: contradicted })
  const { data } = await client().get('/api/v1/relayers/{relayer_id}/nonce', { path })
  expect(data.blocking_transaction).toMatchObject({ transaction_id: first?.id, nonce: 0, wait_reason: 'node' })

  const counts = () => ({
    sends: proxy.counts().eth_sendRawTransaction ?? 0,
    looks: proxy.counts().eth_getBlockByNumber ?? 0,
  })
  const before = counts()
  await until('the service has looked 30 times', () => counts().looks >= before.looks + 30)
  // Two transactions, after half a second, one second, two seconds and so on; a poll takes a tenth of a second.
  expect(counts().sends - before.sends).toBeLessThanOrEqual(16)

  await proxy.setFault(undefined)
  await account.finished(chain.mine)
  expect(await account.score()).toEqual(clean(2))
})

test('cancels a transaction that the only node rejects, and sends the cancellation less and less often', async () => {
  const { chain, proxy, addAccount } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  await proxy.setFault({ kind: 'rejected' })
  const [sent] = await account.send(1)
  const reason = async () => (await account.transactions())[0]?.status_reason ?? ''
  await until('it waits', async () => (await reason()).startsWith('Waits: the node says'))
  await account.cancel(sent?.id as string)
  const waits = /^Canceled by request; Waits: the node says "invalid sender", although /
  await until('it is withdrawn and waits', async () => waits.test(await reason()))
  const counts = () => ({
    sends: proxy.counts().eth_sendRawTransaction ?? 0,
    looks: proxy.counts().eth_getBlockByNumber ?? 0,
  })
  const before = counts()
  await until('the service has looked 30 times', () => counts().looks >= before.looks + 30)
  expect(counts().sends - before.sends).toBeLessThanOrEqual(8)
  await proxy.setFault(undefined)
  await account.finished(chain.mine)
  expect(await account.transactions()).toMatchObject([{ status: 'canceled' }])
})

test('fails a transaction that both nodes reject and returns its nonce, a limited number of times an hour', async () => {
  const { chain, proxies, addAccount } = await testRig({ chain: { noMining: true }, proxies: 2 })
  const account = await addAccount({ policies: { max_gap_fills_per_hour: 1 } })
  const faultEach = (fault: { kind: 'rejected' } | undefined) => Promise.all(proxies.map((one) => one.setFault(fault)))
  await faultEach({ kind: 'rejected' })
  await account.send(2)
  const reasons = async () => (await account.transactions()).map(({ status_reason }) => status_reason ?? '').reverse()
  const refused = 'All healthy endpoints refused it: invalid sender'
  await until('one is withdrawn', async () => (await reasons())[0]?.startsWith(refused) ?? false)
  await until('the other one waits', async () => (await reasons())[1]?.includes('max_gap_fills_per_hour') ?? false)
  await faultEach(undefined)
  await account.finished(chain.mine)
  expect((await account.transactions()).map(({ status }) => status)).toEqual(['confirmed', 'failed'])
})

/**
 * A node whose pool holds `room` transactions. `sends`: how often it received one; `looks`: how often its newest block was read. As real
 * nodes do, it accepts transactions that it holds, and the account's next one, even when the pool is full.
 */
async function limitedNode(chain: Anvil, room: number) {
  const node = { url: '', sends: 0, looks: 0 }
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await request.toArray()).join(''))
    const answers: unknown[] = []
    for (const { id, method, params } of [body].flat()) {
      if (method === 'eth_sendRawTransaction') node.sends += 1
      if (method === 'eth_getBlockByNumber') node.looks += 1
      const isFull = method === 'eth_sendRawTransaction' && (await refuses(chain, params[0], room))
      const error = { code: -32_000, message: 'account limit exceeded' }
      const outcome = isFull
        ? { error }
        : await chain.rpc(method, params).then(
            (result) => ({ result }),
            ({ code, message }) => ({ error: { code, message } }),
          )
      answers.push({ jsonrpc: '2.0', id, ...outcome })
    }
    response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  node.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return node
}

async function refuses(chain: Anvil, raw: string, room: number): Promise<boolean> {
  const { hash, from, nonce } = Transaction.from(raw)
  if ((await held(chain)) < room) return false
  const next = Number(await chain.rpc<string>('eth_getTransactionCount', [from, 'latest']))
  return nonce > next && (await chain.rpc('eth_getTransactionByHash', [hash])) === null
}

async function held(chain: Anvil): Promise<number> {
  const { pending, queued } = await chain.rpc<{ pending: string; queued: string }>('txpool_status')
  return Number(pending) + Number(queued)
}

test('sends each transaction about once to a node that holds 16 of an account', async () => {
  const { chain, addAccount } = await testRig({ chain: { noMining: true } })
  const node = await limitedNode(chain, 16)
  const account = await addAccount({ rpc_urls: [node.url] })
  await account.send(80)
  let before = { sends: -1, looks: 0 }
  await account.finished(async () => {
    const now = { sends: node.sends, looks: node.looks }
    if (now.sends !== before.sends) before = now
    // Mines a block when the service has read the chain three times without sending a transaction.
    if (now.looks < before.looks + 3) return
    await chain.mine()
    before = { sends: -1, looks: 0 }
  })
  expect(await account.score()).toEqual(clean(80))
  expect(node.sends).toBeLessThanOrEqual(160)
})
