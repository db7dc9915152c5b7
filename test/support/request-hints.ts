import { TypedDataEncoder } from 'ethers/hash'
import { Transaction } from 'ethers/transaction'
import fc, { type Arbitrary } from 'fast-check'
import type { Anvil } from './anvil.ts'
import { deep } from './mutation.ts'
import type { Remembered } from './remembered.ts'
import type { Hints } from './schema-arbitrary.ts'

/** Stands in every secret that is sent, so that one search finds any of them. */
export const mark = 'c0ffee5ec2e7'
/** A URL on which no server listens. */
export const deadUrl = 'http://127.0.0.1:1'

const plantedKeys = Array.from({ length: 64 }, (_, index) => mark.padEnd(62, '0') + (index + 16).toString(16))

/** Values that no schema expresses: ids that exist, secrets, the URL of the chain, and values that fit the chain. */
export function requestHints(remembered: Remembered, chain: Anvil): Hints {
  const network = remembered.idOf('network_id').map((id) => id.replace(/^evm:/, ''))
  const key = fc.constantFrom(...plantedKeys, ...plantedKeys.map((hex) => `0x${hex.toUpperCase()}`))
  const secret = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => `${mark}${text}`)
  return {
    properties: {
      ...Object.fromEntries(remembered.parameters.map((name) => [name, remembered.idOf(name)])),
      network: fc.oneof(fc.constant('local'), network),
      key,
      keystore,
      signing_key: fc.oneof(secret, fc.constantFrom('', null)),
      passphrase: secret,
      chain_id: fc.constant(chain.chain_id),
      required_confirmations: fc.constantFrom(1, 1, 2, 5),
      average_blocktime_ms: fc.constantFrom(1_000, 5_000, 15_000),
      paused: mostly(false, true),
      ...policies(chain),
      ...transaction(chain),
      ...typedData(chain),
      params: rpcParams(chain),
    },
    always: {
      // The service really calls these URLs, so no server listens on them.
      url: fc.constantFrom(`${deadUrl}/hook`, `${deadUrl}/hook?a=b`),
      rpc_urls: fc.array(rpcUrl(chain), { minLength: 1, maxLength: 3 }),
      custom_rpc_urls: fc.array(rpcUrl(chain), { maxLength: 2 }),
      wait_seconds: mostly(0, 1),
    },
    rare: ['KeystoreSignerRequest'],
  }
}

const mostly = <T>(usual: T, other: T): Arbitrary<T> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constant(other) })

function rpcUrl({ url }: Anvil): Arbitrary<unknown> {
  const urls = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(url, `${url}/`, `${url}/?key=${mark}`) },
    // Nobody listens; and the chain answers 404.
    { weight: 1, arbitrary: fc.constantFrom(deadUrl, `${url}/${mark}`) },
  )
  return fc.oneof(urls, fc.record({ url: urls, weight: fc.nat(100) }, { requiredKeys: ['url'] }))
}

const receiversOf = ({ accounts }: Anvil) => accounts.slice(0, 3).map(({ address }) => address)

function policies(chain: Anvil) {
  const receivers = receiversOf(chain).map((address) => address.toLowerCase())
  return {
    min_balance: fc.constantFrom<unknown>('0', 0, `${10n ** 18n}`),
    gas_limit_estimation: mostly(true, false),
    gas_price_cap: fc.constantFrom<unknown>(`${10n ** 11n}`, 10 ** 12, `${10n ** 9n}`),
    whitelist_receivers: mostly(receivers, receivers.slice(1)),
    allowed_functions: mostly<unknown>([], [{ address: receivers[0], selectors: ['0x', '0xA9059cbb'] }]),
    max_value: mostly<unknown>(`${10n ** 18n}`, 0),
    max_value_per_day: mostly<unknown>(10n ** 19n, '1').map(String),
    token_limits: mostly<unknown>(
      [],
      [{ asset: receivers[2], max_amount_per_transaction: 1, max_amount_per_day: '2', allow_signatures: true }],
    ),
    allow_messages: mostly(true, false),
    allow_blind_typed_data: mostly(true, false),
    allow_sign_transaction: mostly(true, false),
    allow_authorizations: mostly(true, false),
    allowed_delegates: mostly(receivers, []),
    allowed_domain_separators: mostly(separators, []),
  }
}

/** Of the domain of the contract's example, and of the empty one. */
const separators = [{ name: 'Exchange', version: '1' }, {}].map((domain) => TypedDataEncoder.hashDomain(domain))

/** Documents without values; the contract's example has some. */
const typedData = ({ chain_id }: Anvil) => ({
  types: fc.constantFrom(
    { A: [], B: [] },
    { A: [], B: [{ name: 'a', type: 'A[]' }] },
    { A: [{ name: 'a', type: 'A' }] },
  ),
  primaryType: fc.constantFrom('A', 'A', 'B', 'C'),
  domain: fc.constantFrom<unknown>({}, { name: 'a' }, { chainId: chain_id }, { chainId: '0x1' }),
})

const transfer = `0xa9059cbb${'0'.repeat(24)}${'12'.repeat(20)}${'1'.padStart(64, '0')}`

function transaction(chain: Anvil) {
  const receivers = receiversOf(chain)
  const price = fc.constantFrom<unknown>(null, '3000000000', 30_000_000_000, '60000000000', '1', '0')
  const soon = fc.integer({ min: -9, max: 90 }).map((seconds) => new Date(Date.now() + seconds * 1_000).toISOString())
  return {
    to: fc.constantFrom(...receivers, ...receivers.map((address) => address.toLowerCase()), null),
    value: fc.constantFrom<unknown>('0', 0, 1, '1000000000000000', '000000000000000000000000000001'),
    // Empty, a token transfer, code that stops, code that fails, and code that reverts during contract creation.
    data: fc.constantFrom(null, null, '', '0x', transfer, '0x00', '00', 'fe', '0x60006000fd'),
    gas_limit: fc.constantFrom(null, 21_000, 100_000, 1_000_000, 40_000_000),
    gas_price: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: price }),
    max_fee_per_gas: price,
    max_priority_fee_per_gas: fc.constantFrom<unknown>(null, '1000000000', 1, '0'),
    valid_until: fc.oneof(fc.constant(null), soon),
    unsigned_transaction: unsigned(chain),
    nonce: fc.nat(9).map(String),
    // Few keys, so that requests repeat them, also with other bodies.
    'Idempotency-Key': fc.constantFrom('a', 'b', 'c', '"a"', '"b b"', '!#$%&', 'x'.repeat(255)),
  }
}

/** Unsigned transactions of all types, some with one byte changed. */
function unsigned(chain: Anvil): Arbitrary<string> {
  const [to = null] = receiversOf(chain)
  const common = { to, value: 1n, gasLimit: 21_000n, nonce: 7 }
  const texts = [chain.chain_id, 1].flatMap((chainId) => [
    Transaction.from({ ...common, chainId, type: 0, gasPrice: 10n ** 9n }).unsignedSerialized,
    Transaction.from({ ...common, chainId, type: 1, gasPrice: 10n ** 9n, accessList: [] }).unsignedSerialized,
    Transaction.from({ ...common, chainId, type: 2, maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 1n })
      .unsignedSerialized,
  ])
  const changed = fc.tuple(fc.constantFrom(...texts), fc.nat(), fc.nat(255)).map(([text, at, byte]) => {
    const place = 2 + 2 * (at % ((text.length - 2) / 2))
    return `${text.slice(0, place)}${byte.toString(16).padStart(2, '0')}${text.slice(place + 2)}`
  })
  return fc.oneof(fc.constantFrom(...texts), changed)
}

/** Anvil 1.7.1 crashes on eth_feeHistory with a block count of more than 64 bits. */
export const isBearable = (body: string | Buffer = ''): boolean =>
  !(/eth_feeHistory/.test(`${body}`) && /0x[0-9a-f]{17}/i.test(`${body}`))

/** Parameters for arbitrary methods; a node answers most of them with an error. */
function rpcParams(chain: Anvil): Arbitrary<unknown[]> {
  const [from, to] = receiversOf(chain)
  const hash = `0x${'ab'.repeat(32)}`
  const block = fc.oneof(
    fc.constantFrom<unknown>('latest', 'pending', 'earliest', 'safe', 'finalized', hash, {}),
    fc.nat(300).map((number) => `0x${number.toString(16)}`),
  )
  const odd = fc.jsonValue({ maxDepth: 1 })
  return fc.oneof(
    fc.constantFrom<unknown[]>([], [hash], ['latest', true], [{}], ['0x5', 'latest', [50]]),
    block.map((at) => [at]),
    block.map((at) => [from, at]),
    block.map((at) => [{ from, to, value: '0x1' }, at]),
    fc.tuple(fc.boolean(), block).map(([whole, at]) => [at, whole]),
    fc.array(odd, { maxLength: 3 }),
    fc.tuple(block, odd).map(([at, other]) => [other, at]),
  )
}

// Invalid keystores whose key derivation is cheap: this test does not measure key derivation.
const keystore = fc.record({
  version: fc.constantFrom(3, 4, '3'),
  id: fc.uuid(),
  crypto: fc.record({
    cipher: fc.constantFrom('aes-128-ctr', 'none'),
    cipherparams: fc.constant({ iv: 'ab'.repeat(16) }),
    ciphertext: fc.constant(mark.padEnd(64, 'ab')),
    kdf: fc.constantFrom('scrypt', 'pbkdf2', ''),
    kdfparams: fc.record({
      n: fc.constantFrom(2, 3, 2 ** 30),
      r: fc.constant(1),
      p: fc.constant(1),
      dklen: fc.nat(64),
      salt: fc.constant('00'),
    }),
    mac: fc.constantFrom('ab'.repeat(32), deep),
  }),
})
