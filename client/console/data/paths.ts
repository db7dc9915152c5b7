/** Every address of the console is made and taken apart here. */

/** Of a list of transactions: which states it shows. */
export type TransactionGroup = 'all' | 'unfinished' | 'confirmed' | 'failed' | 'withdrawn'
export type PoolTab = 'list' | 'relayers' | 'funding' | 'activity'
export type RelayerTab = 'list' | 'nonces' | 'policies' | 'funding' | 'events' | 'activity'

const below = (page: string, ...parts: (string | undefined)[]): string =>
  [page, ...parts.filter((part) => part !== undefined).map(encodeURIComponent)].join('/')

/** Any text as a part of an address. Twice, since the router decodes the address before it is taken apart. */
const encoded = (text: string): string => encodeURIComponent(encodeURIComponent(text))

/** The text of a part that the router gives; one that was not encoded here stays as it is. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** An address with a text that was chosen on its page. */
export const withText = (page: string, text: string): string => (text === '' ? page : `${page}/${encoded(text)}`)

export const paths = {
  overview: '/',
  /** The overview with what was chosen on it. */
  chosenOverview: '/overview',
  transactions: '/transactions',
  relayers: '/relayer-list',
  notifications: '/notifications',
  spending: '/spending',
  sandbox: '/sandbox',
  pools: '/pools',
  sponsorships: '/sponsorships',
  facilitators: '/facilitators',
  networks: '/networks',
  signers: '/signers',
  apiKeys: '/keys',
  audit: '/audit',
  service: '/service',
  relayer: (relayerId: string, tab?: RelayerTab) => below('/relayers', relayerId, tab),
  pool: (poolId: string, tab?: PoolTab) => below('/pools', poolId, tab),
  facilitator: (facilitatorId: string) => below('/facilitators', facilitatorId),
  apiKey: (apiKeyId: string) => below('/keys', apiKeyId),
  network: (networkId: string) => below('/networks', networkId),
  notification: (notificationId: string) => below('/notifications', notificationId),
  transaction: ({ relayer_id, id }: { relayer_id: string; id: string }) =>
    below('/relayers', relayer_id, 'transactions', id),
  sandboxOf: (relayerId: string, transactionId?: string) => below('/sandbox', relayerId, transactionId),
  /** What a list of transactions shows of a group by a text. `list`: that of all, of a relayer or of a pool. */
  group: (list: string, group: TransactionGroup, text = '') => withText(`${list}/${group}`, text),
} as const

/** What was chosen on a page. */
export type Find = { find?: string }
/** The filters of a list. */
type Filters = Find & { group?: string }
export type ListPage = Filters
export type NotificationPage = Find & { notification_id: string }
export type RelayerPage = Filters & { relayer_id: string; tab?: string }
export type PoolPage = Filters & { pool_id: string; tab?: string }

/** The same addresses as the router reads them. */
export const routes = {
  overview: /^\/(?:overview(?:\/(?<find>[^/]+))?)?$/,
  transaction: '/relayers/:relayer_id/transactions/:transaction_id',
  oldRelayers: '/relayers',
  relayers: '/relayer-list/:find?',
  relayer: '/relayers/:relayer_id/:tab?/:group?/:find?',
  notification: '/notifications/:notification_id/:find?',
  network: '/networks/:network_id',
  facilitator: '/facilitators/:facilitator_id',
  apiKey: '/keys/:api_key_id',
  spending: '/spending/:find?',
  transactions: '/transactions/:group?/:find?',
  pool: '/pools/:pool_id/:tab?/:group?/:find?',
  sandbox: '/sandbox/:relayer_id?/:transaction_id?',
  audit: '/audit/:find?',
} as const

/** The page of the navigation that an address belongs to. */
export function pageOf(path: string): string {
  if (path.startsWith('/relayers')) return path.includes('/transactions/') ? paths.transactions : paths.relayers
  return path.startsWith(paths.chosenOverview) ? paths.overview : path.split('/', 2).join('/')
}
