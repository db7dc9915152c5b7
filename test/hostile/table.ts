import { prepared, type Wide } from './wide.ts'

/** What the requests of the table are about. */
export interface Stored {
  /** Rows of each large table. */
  rows: number
  /** Ids of unfinished transactions with as much data as there may be, of the relayer `demo`. */
  unfinished: string[]
  /** Ids of API keys. */
  api_keys: string[]
  /** Ids of unfinished transactions that were sent through the pool `kept-0`. */
  pooled: string[]
  /** The id of a problem that lasts. */
  problem: string
}

export const nothingStored: Stored = { rows: 1_000, unfinished: [], api_keys: [], pooled: [], problem: 'none' }

/** Data that nodes take at most, and a little less (CallDataInput in openapi.yaml). */
const data = `0x${'ab'.repeat(130_000)}`
const to = `0x${'5a'.repeat(20)}`
const transaction = { to, value: '1', data, gas_limit: 6_000_000 }
const batch = { transactions: Array(100).fill({ ...transaction, data: data.slice(0, 8_000), gas_limit: 300_000 }) }
const listed = Array.from({ length: 50 }, (_, index) => `0x${index.toString(16).padStart(40, '0')}`)
const selectors = Array.from({ length: 50 }, (_, index) => `0x${index.toString(16).padStart(8, '0')}`)
export const sponsorship = {
  ...{
    relayer_id: 'demo',
    max_gas_per_call: 1_000_000,
    max_fee_per_call: '1',
    max_fee_per_day: '1',
    forwarders: listed.slice(0, 20),
  },
  targets: listed.map((address) => ({ address, selectors })),
}
export const facilitator = {
  ...{ pool_id: 'payers', pay_to: to, max_fee_per_payment: '1', max_fee_per_day: '1' },
  assets: listed.slice(0, 20).map((asset) => ({ asset, max_amount_per_payment: '1' })),
}
/** With the longest signature, and members that nobody reads. */
const payment = () => {
  const requirements = {
    ...{ scheme: 'exact', network: 'eip155:31337', amount: '1', asset: listed[0], payTo: to },
    extra: { name: 'USD Coin', version: '2' },
  }
  const authorization = {
    from: to,
    to,
    value: '1',
    validAfter: '0',
    validBefore: '4102444800',
    nonce: `0x${'11'.repeat(32)}`,
  }
  const payload = { authorization, signature: `0x${'ff'.repeat(8_160)}${'6492'.repeat(16)}` }
  const paymentPayload = { x402Version: 2, accepted: requirements, payload, extensions: { data } }
  return { paymentPayload, paymentRequirements: requirements }
}
const longUrl = `http://127.0.0.1:1/${'x'.repeat(2_000)}`
const megabyte = 1_000_000
const page = 'per_page=1000'
/** Background work that follows an answer is the answer's. */
const bulkMs = 1_500

type Make = (stored: Stored, attempt: number) => Wide[]

const get =
  (...paths: string[]): Make =>
  (stored) =>
    paths.map((path) => {
      const full = path
        .replaceAll('{rows}', `${stored.rows}`)
        .replaceAll('{last}', `${Math.floor(stored.rows / 1_000)}`)
        .replaceAll('{first}', stored.unfinished[0] ?? 'none')
        .replaceAll('{pooled}', stored.pooled[0] ?? 'none')
      return { name: full.slice(0, 60), method: 'GET', path: `/api/v1${full}`, succeeds: true }
    })

const send =
  (
    method: string,
    path: string,
    body?: (stored: Stored, attempt: number) => object,
    special: Partial<Wide> = {},
  ): Make =>
  (stored, attempt) => {
    const text = body && JSON.stringify(body(stored, attempt))
    const withBody = text === undefined ? {} : { type: 'application/json', body: text }
    const its: Record<string, string | undefined> = {
      unfinished: stored.unfinished[attempt],
      key: stored.api_keys[attempt],
      pooled: stored.pooled[attempt],
      problem: stored.problem,
      attempt: `${attempt}`,
    }
    const full = path.replace(/\{(\w+)\}/, (_, name) => its[name] ?? 'none')
    return [
      {
        name: `${method} ${full}`.slice(0, 60),
        method,
        path: `/api/v1${full}`,
        succeeds: true,
        ...withBody,
        ...special,
      },
    ]
  }

const addresses = (count: number) =>
  Array.from({ length: count }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`)
const policies = {
  whitelist_receivers: addresses(1_000),
  allowed_functions: addresses(100).map((address) => ({
    address,
    selectors: Array.from({ length: 50 }, (_, index) => `0x${(index + 1).toString(16).padStart(8, '0')}`),
  })),
}
const relayer = { name: 'new', network: 'local', network_type: 'evm', paused: false, policies }
const typed = {
  types: {
    EIP712Domain: [{ name: 'name', type: 'string' }],
    Mail: [{ name: 'to', type: 'address[]' }],
  },
  primaryType: 'Mail',
  domain: { name: 'Hostile' },
  message: { to: addresses(4_900) },
}
export const network = {
  network_type: 'evm' as const,
  chain_id: 777,
  rpc_urls: Array.from({ length: 10 }, (_, index) => `http://127.0.0.1:1/${index}${'x'.repeat(1_900)}`),
  explorer_urls: Array.from({ length: 10 }, (_, index) => `http://127.0.0.1:1/${index}${'x'.repeat(1_900)}`),
  required_confirmations: 1,
  average_blocktime_ms: 1_000,
  is_testnet: true,
}

export const abi = Array.from({ length: 1_000 }, (_, index) => `function f${index}((uint256 a, bytes b)[] values)`)

/**
 * The worst known request of each operation of the contract: the largest accepted body, which concerns as much stored data as possible.
 * A new operation needs an entry.
 */
export const table: Record<string, Make> = {
  getHealth: get('/health'),
  getReadiness: get('/ready'),
  signMessage: send('POST', '/relayers/demo/sign', () => ({ message: 'x'.repeat(megabyte) })),
  signBatch: send('POST', '/relayers/demo/sign/batch', () => ({
    items: Array.from({ length: 1_000 }, (_, index) => ({ message: `${index}${'x'.repeat(900)}` })),
  })),
  signTypedDataHashes: send('POST', '/relayers/demo/sign-typed-data', () => ({
    domain_separator: '11'.repeat(32),
    hash_struct_message: '22'.repeat(32),
  })),
  signTypedData: send('POST', '/relayers/demo/sign-typed-data/full', () => typed),
  signAuthorization: send('POST', '/relayers/authorizing/sign-authorization', () => ({ address: to, nonce: 0 })),
  signTransaction: () => [
    prepared('data', Buffer.alloc(130_000, 0xab), []),
    prepared(
      'an access list',
      Buffer.of(),
      Array.from({ length: 3_300 }, () => [Buffer.alloc(20, 1), []]),
    ),
  ],
  sendTransaction: send('POST', '/relayers/demo/transactions', () => transaction, { after_ms: 300 }),
  sendTransactionBatch: send('POST', '/relayers/demo/transactions/batch', () => batch, { after_ms: 300 }),
  dryRunTransaction: send('POST', '/relayers/demo/transactions/dry-run', () => transaction),
  replaceTransaction: send('PUT', '/relayers/demo/transactions/{unfinished}', () => ({
    ...transaction,
    speed: 'fast',
  })),
  speedUpTransaction: send('POST', '/relayers/demo/transactions/{unfinished}/speed-up', () => ({})),
  publishTransaction: send('POST', '/relayers/demo/transactions/{unfinished}/publish', undefined, { succeeds: false }),
  cancelTransaction: send('DELETE', '/relayers/demo/transactions/{unfinished}'),
  listRelayerTransactions: get(
    `/relayers/full/transactions/?${page}&page={last}`,
    `/relayers/full/transactions/?${page}&status=confirmed&page={last}`,
    '/relayers/full/transactions/?status=failed&page=90',
    `/relayers/full/transactions/?${page}&created_after=2026-01-01T00:00:01.500Z&page={last}`,
    `/relayers/full/transactions/?${page}&status=pending&created_before=2027-01-01T00:00:00Z`,
    // As much data as a page may have.
    '/relayers/demo/transactions/?per_page=120',
    `/relayers/full/transactions/?${page}&reference=order-7&page={last}`,
    `/relayers/full/transactions/?${page}&nonce_from=1&nonce_to={rows}&page={last}`,
    `/relayers/full/transactions/?${page}&to=0x${'5a'.repeat(20)}&status=failed`,
    `/relayers/full/transactions/?hash=0x${'12'.repeat(32)}`,
    `/relayers/full/transactions/?${page}&search=order-7`,
  ),
  listTransactions: get(
    '/transactions?per_page=120',
    `/transactions?${page}&page=10&status=confirmed`,
    '/transactions?reference=order-7',
    `/transactions?hash=0x${'12'.repeat(32)}`,
    `/transactions?${page}&search=full`,
  ),
  getRelayerTransaction: get('/relayers/full/transactions/full-{rows}'),
  listTransactionAttempts: get('/relayers/demo/transactions/{first}/attempts?per_page=1000'),
  getTransactionExplanation: get('/transactions/{first}/explanation'),
  getTransaction: get('/transactions/{first}'),
  getRelayerTransactionByNonce: get('/relayers/full/transactions/by-nonce/{rows}'),
  getRelayerBalance: get('/relayers/demo/balance'),
  getRelayerStatus: get('/relayers/full/status', '/relayers/demo/status'),
  callRelayerJsonRpc: (stored, attempt) => [
    ...send('POST', '/relayers/demo/rpc', () => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_call',
      params: [{ to, data: `0x${'ab'.repeat(500_000)}` }, 'latest'],
    }))(stored, attempt),
    ...send('POST', '/relayers/demo/rpc', () =>
      Array.from({ length: 1_000 }, (_, id) => ({
        jsonrpc: '2.0',
        id,
        method: 'personal_sign',
        params: [`0x${'ab'.repeat(400)}`, to],
      })),
    )(stored, attempt),
  ],
  callMcp: send('POST', '/mcp', (_, attempt) => ({
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
    params: {
      name: 'send_call',
      arguments: {
        ...{ relayer_id: 'demo', to, function: 'batch(bytes[])', request_id: `hostile-${attempt}` },
        arguments: [Array.from({ length: 900 }, () => `0x${'ab'.repeat(500)}`)],
      },
    },
  })),
  getRelayerNonce: get('/relayers/full/nonce', '/relayers/demo/nonce'),
  listExternalTransactions: get(`/relayers/full/external-transactions?${page}&page={last}`),
  acknowledgeExternalTransactions: send('POST', '/relayers/full/external-transactions/acknowledge', () => ({
    transactions: Array.from({ length: 1_000 }, (_, nonce) => ({ nonce, hash: null })),
  })),
  reconcileRelayerNonce: send('POST', '/relayers/full/nonce/reconcile'),
  streamRelayerEvents: () => [
    { name: 'all events', method: 'GET', path: '/api/v1/relayers/full/events', stream: true },
  ],
  listNotifications: get(`/notifications?${page}&page={last}`),
  createNotification: send('POST', '/notifications', () => ({ url: longUrl })),
  getNotification: get('/notifications/n-{rows}'),
  updateNotification: send('PATCH', '/notifications/n-1{attempt}', () => ({ url: longUrl })),
  getNotificationHealth: get('/notifications/full/health'),
  listNotificationDeliveries: get(
    `/notifications/full/deliveries?${page}`,
    `/notifications/full/deliveries?${page}&page={last}`,
    `/notifications/full/deliveries?${page}&status=failed&page={last}`,
    `/notifications/full/deliveries?${page}&status=delivered`,
  ),
  testNotification: send('POST', '/notifications/full/test'),
  listRelayers: get(`/relayers?${page}`),
  createRelayer: send('POST', '/relayers', (_, attempt) => ({
    ...relayer,
    id: `new-${attempt}`,
    signer_id: `spare-${attempt}`,
  })),
  getRelayer: get('/relayers/full'),
  updateRelayer: send('PATCH', '/relayers/full', () => ({ policies })),
  getRelayerFunding: get('/relayers/kept-0/funding'),
  replaceRelayerFunding: send('PUT', '/relayers/kept-{attempt}/funding', () => ({
    ...{ treasury_id: 'demo', min_balance: '1', target_balance: '2', max_amount_per_day: '3', max_fee_per_gas: '4' },
  })),
  deleteRelayerFunding: send('DELETE', '/relayers/kept-{attempt}/funding'),
  getPoolFunding: get('/pools/kept-0/funding'),
  replacePoolFunding: send('PUT', '/pools/kept-{attempt}/funding', () => ({
    ...{
      treasury_id: 'authorizing',
      min_balance: '1',
      target_balance: '2',
      max_amount_per_day: '3',
      max_fee_per_gas: '4',
    },
  })),
  deletePoolFunding: send('DELETE', '/pools/kept-{attempt}/funding'),
  deleteRelayer: send('DELETE', '/relayers/kept-{attempt}'),
  listSigners: get(`/signers?${page}`),
  createSigner: send('POST', '/signers', () => ({ type: 'generated' })),
  getSigner: get('/signers/demo'),
  deleteSigner: send('DELETE', '/signers/idle-{attempt}'),
  listNetworks: get(`/networks?${page}`),
  createNetwork: send('POST', '/networks', (_, attempt) => ({ ...network, name: `net-${attempt}` })),
  getNetwork: get('/networks/evm:local'),
  listNetworkNodes: get('/networks/evm:local/nodes'),
  updateNetwork: send('PATCH', '/networks/evm:kept-{attempt}', () => ({ rpc_urls: network.rpc_urls })),
  listProblems: get(`/problems?${page}`),
  updateProblem: send('PATCH', '/problems/{problem}', () => ({ acknowledgement: { minutes: 60 } })),
  searchResources: get(
    '/search?q=demo',
    '/search?q=7',
    `/search?q=0x${'5a'.repeat(20)}`,
    '/search?q=order:7',
    '/search?q=e',
  ),
  listPools: get(`/pools?${page}`),
  createPool: send('POST', '/pools', (_, attempt) => ({
    id: `pool-${attempt}`,
    network: 'local',
    relayer_ids: ['demo', 'pooled'],
  })),
  getPool: get('/pools/kept-0'),
  updatePool: send('PATCH', '/pools/kept-{attempt}', () => ({
    name: 'x'.repeat(64),
    relayer_ids: ['demo', 'pooled'],
    weights: { demo: 1_000, pooled: 1 },
  })),
  sendPoolTransaction: send('POST', '/pools/kept-{attempt}/transactions', (_, attempt) => ({
    ...transaction,
    ordering_key: `key ${attempt}`,
  })),
  dryRunPoolTransaction: send('POST', '/pools/kept-{attempt}/transactions/dry-run', () => transaction),
  sendPoolTransactionBatch: send('POST', '/pools/kept-{attempt}/transactions/batch', () => batch),
  movePoolTransaction: send('POST', '/pools/kept-0/transactions/{pooled}/move', undefined, { succeeds: false }),
  streamPoolEvents: () => [{ name: 'all events', method: 'GET', path: '/api/v1/pools/kept-0/events', stream: true }],
  callPoolJsonRpc: send('POST', '/pools/kept-0/rpc', () =>
    Array.from({ length: 1_000 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'eth_sendTransaction', params: [{ to }] })),
  ),
  deletePool: send('DELETE', '/pools/kept-{attempt}'),
  createSponsorship: send('POST', '/sponsorships', (_, attempt) => ({ ...sponsorship, id: `sponsorship-${attempt}` })),
  listSponsorships: get(`/sponsorships?${page}`),
  getSponsorship: get('/sponsorships/kept-0'),
  updateSponsorship: send('PATCH', '/sponsorships/kept-{attempt}', () => ({ targets: sponsorship.targets })),
  getSponsoredUser: get(`/sponsorships/kept-0/users/${to}`),
  sendSponsoredCall: send(
    'POST',
    '/sponsorships/kept-{attempt}/calls',
    () => ({ to: sponsorship.forwarders[0], data }),
    { succeeds: false },
  ),
  getSponsoredCall: () => [
    {
      name: 'an unknown call',
      method: 'GET',
      path: `/api/v1/sponsorships/kept-0/calls/0x${'0'.repeat(64)}`,
    },
  ],
  callSponsoredJsonRpc: () => [
    {
      name: 'a batch with another key',
      method: 'POST',
      path: '/api/v1/rpc',
      type: 'application/json',
      body: JSON.stringify(Array(1_000).fill({ jsonrpc: '2.0', id: 1, method: 'relayer_getStatus', params: [] })),
    },
  ],
  deleteSponsorship: send('DELETE', '/sponsorships/kept-{attempt}'),
  createFacilitator: send('POST', '/facilitators', (_, attempt) => ({ ...facilitator, id: `facilitator-${attempt}` })),
  listFacilitators: get(`/facilitators?${page}`),
  getFacilitator: get('/facilitators/kept-0'),
  updateFacilitator: send('PATCH', '/facilitators/kept-{attempt}', () => ({ assets: facilitator.assets })),
  getSupportedPayments: get('/facilitators/kept-0/supported'),
  verifyPayment: send('POST', '/facilitators/kept-0/verify', payment),
  settlePayment: send('POST', '/facilitators/kept-0/settle', payment),
  listPayments: get(`/facilitators/kept-0/payments?${page}`),
  getPayment: () => [
    { name: 'an unknown payment', method: 'GET', path: `/api/v1/facilitators/kept-0/payments/0x${'0'.repeat(64)}` },
  ],
  deleteFacilitator: send('DELETE', '/facilitators/kept-{attempt}'),
  listAbis: get(`/abis?${page}`),
  createAbi: send('POST', '/abis', (_, attempt) => ({
    id: `abi-${attempt}`,
    network: 'local',
    address: `0x${attempt.toString(16).padStart(40, '0')}`,
    abi,
  })),
  getAbi: get('/abis/kept-0'),
  deleteAbi: send('DELETE', '/abis/kept-{attempt}'),
  deleteNetwork: send('DELETE', '/networks/evm:kept-{attempt}'),
  listRelayerQueues: get(`/queues?${page}`),
  getRelayerActivity: get('/activity', '/activity?period=day', '/activity?period=quarter'),
  listRelayerSpending: get('/spending', '/spending?days=90'),
  listCallerSpending: get('/spending/callers', '/spending/callers?days=90'),
  getOwnApiKey: get('/api-keys/self'),
  listApiKeys: get(`/api-keys?${page}`),
  createApiKey: send('POST', '/api-keys', (_, attempt) => ({
    name: `key-${attempt}`,
    scopes: ['sign'],
    allowed_cidrs: Array.from({ length: 100 }, (_, index) => `10.${index}.0.0/16`),
  })),
  getApiKey: send('GET', '/api-keys/{key}'),
  updateApiKey: send('PATCH', '/api-keys/{key}', (_, attempt) => ({ name: `${attempt}`.padEnd(100, 'x') })),
  rotateApiKey: send('POST', '/api-keys/{key}/rotate', () => ({})),
  deleteApiKey: send('DELETE', '/api-keys/{key}'),
  listAuditEntries: get(
    `/audit?${page}`,
    `/audit?${page}&page={last}`,
    `/audit?${page}&operation=none`,
    `/audit?caller=somebody`,
    `/audit?outcome=refused&exclude_service=true&operation=sign`,
  ),
  getAuditHead: get('/audit/head'),
  getServiceState: get('/service'),
  // Last, because they change most rows and continue in the background.
  sweepRelayer: send('POST', '/relayers/demo/sweep', () => ({ to })),
  cancelPendingTransactions: send('DELETE', '/relayers/demo/transactions/pending', undefined, { after_ms: bulkMs }),
  redeliverDeliveries: send(
    'POST',
    '/notifications/full/redeliver',
    () => ({ status: 'failed', since: '2026-01-01T00:00:00Z' }),
    {
      after_ms: bulkMs,
    },
  ),
  deleteNotification: (stored, attempt) =>
    attempt === 0 ? send('DELETE', '/notifications/full', undefined, { after_ms: bulkMs })(stored, attempt) : [],
}
