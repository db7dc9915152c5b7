import { Wallet } from 'ethers'
import type { Anvil } from './anvil.ts'
import { operations } from './contract.ts'
import type { Liar } from './liar.ts'
import { amount, anyToken, signPayment } from './payments.ts'
import { until } from './until.ts'

/** Sends a request to the operation with these ids in its path, with the first API key unless another is given. Resolves to `data` of the response, or to one without an envelope. Throws when it is refused. */
export type Ask = (operationId: string, ids?: string[], body?: unknown, token?: string) => Promise<unknown>

interface Named {
  id: string
}

/** The example of the operation's body in the contract, with these members replaced. */
function example(operationId: string, others: object): object {
  const body = operations.find(({ id }) => id === operationId)?.examples[0]
  return { ...(body as object | undefined), ...others }
}

/**
 * A request to each operation of the contract that succeeds whatever else is in the database. Its resources have ids that begin with
 * `name`, and a network of their own on the chain, behind the node.
 */
export async function directedRequests(
  name: string,
  { chain, node, dead_url }: { chain: Anvil; node: Liar; dead_url: string },
  ask: Ask,
): Promise<void> {
  const create = async (operationId: string, body: object) => ((await ask(operationId, [], body)) as Named).id

  await createAndDelete(name, chain, dead_url, ask)
  const rpcUrls = [node.url]
  const network = await create(
    'createNetwork',
    example('createNetwork', { name, chain_id: chain.chain_id, rpc_urls: rpcUrls, required_confirmations: 1 }),
  )
  const notification = await create('createNotification', {
    ...example('createNotification', { id: `${name}-notification`, url: `${dead_url}/hook` }),
  })
  const signer = await create('createSigner', { id: `${name}-signer`, type: 'generated', config: {} })
  const relayer = await create(
    'createRelayer',
    example('createRelayer', {
      id: `${name}-relayer`,
      network: name,
      signer_id: signer,
      notification_id: notification,
      policies: { allow_authorizations: true },
    }),
  )
  await read(network, notification, signer, ask)
  await ask('updateNetwork', [network], { rpc_urls: rpcUrls })
  await ask('updateNotification', [notification], example('updateNotification', {}))
  await ask('updateRelayer', [relayer], { paused: true })
  await acknowledge(relayer, ask)
  await ask('updateRelayer', [relayer], { paused: false })
  await sign(relayer, ask)
  await callNode(relayer, ask)

  // Without blocks transactions stay unfinished.
  await chain.rpc('evm_setIntervalMining', [0])
  await fund(network.replace('evm:', ''), relayer, ask)
  await chain.setBalance(((await ask('getRelayer', [`${relayer}-reserve`])) as { address: string }).address, 10n ** 20n)
  await sendInPool(network.replace('evm:', ''), relayer, node, ask)
  await sponsor(relayer, ask)
  await settle(network.replace('evm:', ''), relayer, chain, ask)
  await sendAndCancel(relayer, ask)
  await ask('updateNetwork', [network], { private_rpc_urls: [chain.url] })
  const privately = { ...example('sendTransaction', {}), submission: { mode: 'private' } }
  const { id: hidden } = (await ask('sendTransaction', [relayer], privately)) as Named
  await ask('publishTransaction', [relayer, hidden])
  await ask('sweepRelayer', [relayer], example('sweepRelayer', {}))
  await chain.rpc('evm_setIntervalMining', [1])

  await notify(notification, ask)
}

/** Resources that no other request uses. */
async function createAndDelete(name: string, chain: Anvil, deadUrl: string, ask: Ask): Promise<void> {
  const spare = `${name}-spare`
  const { id: network } = (await ask('createNetwork', [], {
    ...example('createNetwork', { name: spare, chain_id: chain.chain_id, rpc_urls: [chain.url] }),
  })) as Named
  await ask('createSigner', [], { id: spare, type: 'generated', config: {} })
  await ask('createRelayer', [], example('createRelayer', { id: spare, network: spare, signer_id: spare }))
  await ask('createNotification', [], example('createNotification', { id: spare, url: `${deadUrl}/hook` }))
  await ask('deleteRelayer', [spare])
  await ask('deleteSigner', [spare])
  await ask('createAbi', [], example('createAbi', { id: spare, network: spare }))
  await ask('getAbi', [spare])
  await ask('deleteAbi', [spare])
  await ask('deleteNetwork', [network])
  await ask('deleteNotification', [spare])

  const { api_key } = (await ask('createApiKey', [], { name: spare, scopes: ['sign'] })) as { api_key: Named }
  const { id: key } = api_key
  await ask('listApiKeys')
  await ask('getApiKey', [key])
  await ask('updateApiKey', [key], example('updateApiKey', {}))
  await ask('rotateApiKey', [key], example('rotateApiKey', {}))
  await ask('deleteApiKey', [key])
}

async function read(network: string, notification: string, signer: string, ask: Ask): Promise<void> {
  for (const id of ['listNetworks', 'listAbis', 'listNotifications', 'listSigners', 'listRelayers', 'listTransactions'])
    await ask(id)
  for (const id of ['listAuditEntries', 'getAuditHead', 'getHealth', 'getReadiness', 'getServiceState']) await ask(id)
  for (const id of [
    'getOwnApiKey',
    'listRelayerQueues',
    'getRelayerActivity',
    'listRelayerSpending',
    'listCallerSpending',
    'searchResources',
  ])
    await ask(id)
  await ask('getNetwork', [network])
  await ask('listNetworkNodes', [network])
  await ask('getNotification', [notification])
  await ask('getSigner', [signer])
}

/** A paused relayer is a problem. */
async function acknowledge(relayer: string, ask: Ask): Promise<void> {
  let problem: Named | undefined
  // A list serves everybody who asks within some seconds.
  await until('the paused relayer is listed', async () => {
    const problems = (await ask('listProblems')) as (Named & { relayer_id: string; kind: string })[]
    problem = problems.find(({ relayer_id, kind }) => relayer_id === relayer && kind === 'relayer_paused')
    return problem !== undefined
  })
  const ids = [(problem as Named | undefined)?.id as string]
  await ask('updateProblem', ids, { acknowledgement: { minutes: 60 } })
  await ask('updateProblem', ids, { acknowledgement: null })
}

async function sign(relayer: string, ask: Ask): Promise<void> {
  for (const id of ['signMessage', 'signBatch', 'signTypedDataHashes', 'signTypedData', 'signTransaction'])
    await ask(id, [relayer], example(id, {}))
  await ask('signAuthorization', [relayer], example('signAuthorization', {}))
}

async function callNode(relayer: string, ask: Ask): Promise<void> {
  for (const id of ['getRelayer', 'getRelayerBalance', 'getRelayerStatus', 'getRelayerNonce', 'streamRelayerEvents'])
    await ask(id, [relayer])
  for (const name of ['get_budget', 'send_call'])
    await ask('callMcp', [], {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: { relayer_id: relayer } },
    })
  await ask('callRelayerJsonRpc', [relayer], { jsonrpc: '2.0', id: 1, method: 'eth_accounts', params: [] })
  await ask('reconcileRelayerNonce', [relayer], {})
  await ask('acknowledgeExternalTransactions', [relayer], { transactions: [{ nonce: 1, hash: null }] })
}

async function fund(network: string, relayer: string, ask: Ask): Promise<void> {
  const reserve = `${relayer}-reserve`
  await ask('createSigner', [], { id: reserve, type: 'generated', config: {} })
  await ask('createRelayer', [], example('createRelayer', { id: reserve, network, signer_id: reserve }))
  await ask('replaceRelayerFunding', [relayer], example('replaceRelayerFunding', { treasury_id: reserve }))
  await ask('getRelayerFunding', [relayer])
  await ask('deleteRelayerFunding', [relayer])
}

async function sendInPool(network: string, relayer: string, node: Liar, ask: Ask): Promise<void> {
  const pool = `${relayer}-pool`
  await ask('createPool', [], { id: pool, network, relayer_ids: [relayer, `${relayer}-reserve`] })
  await ask('listPools')
  await ask('getPool', [pool])
  await ask('updatePool', [pool], { name: 'Other', weights: { [relayer]: 50 } })
  await ask('sendPoolTransaction', [pool], example('sendPoolTransaction', {}))
  await ask('dryRunPoolTransaction', [pool], example('dryRunPoolTransaction', {}))
  await ask('streamPoolEvents', [pool])
  await moveInPool(pool, relayer, node, ask)
  await ask('sendPoolTransactionBatch', [pool], example('sendPoolTransactionBatch', {}))
  await ask('callPoolJsonRpc', [pool], { jsonrpc: '2.0', id: 1, method: 'eth_accounts' })
  await ask('updatePool', [pool], { relayer_ids: [relayer] })
  await ask('replacePoolFunding', [pool], example('replacePoolFunding', { treasury_id: `${relayer}-reserve` }))
  await ask('getPoolFunding', [pool])
  await ask('deletePoolFunding', [pool])
  await ask('deletePool', [pool])
}

async function sponsor(relayer: string, ask: Ask): Promise<void> {
  const id = `${relayer}-sponsorship`
  const { token } = (await ask('createSponsorship', [], example('createSponsorship', { id, relayer_id: relayer }))) as {
    token: string
  }
  await ask('listSponsorships')
  await ask('getSponsorship', [id])
  const call = (await ask('sendSponsoredCall', [id], example('sendSponsoredCall', {}))) as Named & { user: string }
  await ask('getSponsoredCall', [id, call.id], undefined, token)
  await ask('getSponsoredUser', [id, call.user])
  await ask('callSponsoredJsonRpc', [], example('callSponsoredJsonRpc', {}), token)
  await ask('updateSponsorship', [id], example('updateSponsorship', {}))
  await ask('deleteSponsorship', [id])
}

async function settle(network: string, relayer: string, chain: Anvil, ask: Ask): Promise<void> {
  const id = `${relayer}-facilitator`
  const pool = `${relayer}-payers`
  const [asset, payTo] = [`0x${'7'.repeat(40)}`, `0x${'8'.repeat(40)}`]
  await chain.rpc('anvil_setCode', [asset, anyToken])
  await ask('createPool', [], { id: pool, network, relayer_ids: [relayer] })
  const body = {
    id,
    pool_id: pool,
    assets: [{ asset, max_amount_per_payment: amount }],
    pay_to: payTo,
    wait_seconds: 0,
  }
  const { token } = (await ask('createFacilitator', [], example('createFacilitator', body))) as { token: string }
  await ask('listFacilitators')
  await ask('getFacilitator', [id])
  await ask('getSupportedPayments', [id], undefined, token)
  const its = { chain_id: chain.chain_id, token: asset, payee: payTo, valid_before: 4_102_444_800 }
  const request = await signPayment(Wallet.createRandom() as unknown as Wallet, its)
  await ask('verifyPayment', [id], request, token)
  const { extra } = (await ask('settlePayment', [id], request, token)) as { extra: { payment: string } }
  await ask('listPayments', [id], undefined, token)
  await ask('getPayment', [id, extra.payment], undefined, token)
  await ask('updateFacilitator', [id], example('updateFacilitator', {}))
  await ask('deleteFacilitator', [id])
  await ask('deletePool', [pool])
}

/** What stands behind a transaction that no node accepts is not signed. */
async function moveInPool(pool: string, relayer: string, node: Liar, ask: Ask): Promise<void> {
  node.lie = (method) => (method === 'eth_sendRawTransaction' ? new Error('txpool is full') : undefined)
  const { id: refused } = (await ask('sendTransaction', [relayer], example('sendTransaction', {}))) as Named
  await until('it is refused', async () => {
    const { status_reason } = (await ask('getRelayerTransaction', [relayer, refused])) as {
      status_reason: string | null
    }
    return status_reason !== null
  })
  await ask('updatePool', [pool], { weights: { [`${relayer}-reserve`]: 0 } })
  const { id } = (await ask('sendPoolTransaction', [pool], example('sendTransaction', {}))) as Named
  await ask('updatePool', [pool], { weights: { [`${relayer}-reserve`]: 100 } })
  await ask('movePoolTransaction', [pool, id])
  node.lie = undefined
}

async function sendAndCancel(relayer: string, ask: Ask): Promise<void> {
  await ask('dryRunTransaction', [relayer], example('dryRunTransaction', {}))
  const body = example('sendTransaction', {})
  const { id, nonce } = (await ask('sendTransaction', [relayer], body)) as Named & { nonce: number }
  for (const operation of ['getRelayerTransaction', 'listTransactionAttempts']) await ask(operation, [relayer, id])
  for (const operation of ['getTransaction', 'getTransactionExplanation']) await ask(operation, [id])
  await ask('getRelayerTransactionByNonce', [relayer, String(nonce)])
  await ask('listRelayerTransactions', [relayer])
  await ask('listExternalTransactions', [relayer])
  await ask('replaceTransaction', [relayer, id], example('replaceTransaction', {}))
  await ask('speedUpTransaction', [relayer, id], example('speedUpTransaction', {}))
  await ask('cancelTransaction', [relayer, id])
  await ask('sendTransactionBatch', [relayer], example('sendTransactionBatch', {}))
  await ask('cancelPendingTransactions', [relayer])
}

async function notify(notification: string, ask: Ask): Promise<void> {
  await ask('testNotification', [notification])
  await ask('getNotificationHealth', [notification])
  const [delivery] = (await ask('listNotificationDeliveries', [notification])) as Named[]
  for (const body of [
    { delivery_id: delivery?.id ?? '' },
    { status: 'pending' },
    { status: 'failed', since: '2026-01-01T00:00:00Z' },
  ])
    await ask('redeliverDeliveries', [notification], body)
}
