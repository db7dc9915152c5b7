import { Contract, ContractFactory, Interface, JsonRpcProvider, toBeHex, Wallet } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import { RelayerError, type RelayerPoliciesInput } from '../../client/index.ts'
import type { SignTypedDataRequest } from '../../generated/openapi.ts'
import type { Anvil } from '../support/anvil.ts'
import { testChain } from '../support/chain.ts'
import { refusalOf, unsigned } from '../support/policies.ts'
import { createRelayer, createSigner } from '../support/resources.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { compileSolidity } from '../support/solidity.ts'
import { authorizationOf, daiPermitOf, domainOf, permit2, permitOf, transferOf } from '../support/token-documents.ts'

type Client = TestService['client']
const erc20 = new Interface(['function transfer(address, uint256)'])
const [token, other] = [`0x${'56'.repeat(20)}`, `0x${'78'.repeat(20)}`] as const
const to = `0x${'12'.repeat(20)}`
const local = 31_337
const own = domainOf(token, local)
const limitsOf = (maxAmountPerDay: string): RelayerPoliciesInput => ({
  token_limits: [{ asset: token, max_amount_per_day: maxAmountPerDay, allow_signatures: true }],
})
const fullPath = '/api/v1/relayers/{relayer_id}/sign-typed-data/full'

const set = (client: Client, policies: RelayerPoliciesInput, relayerId = 'demo') =>
  client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayerId }, body: { policies } })
const sign = (client: Client, body: SignTypedDataRequest, relayerId = 'demo') =>
  client.post(fullPath, { path: { relayer_id: relayerId }, body })
const reasonOf = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (error) => error,
  )
  return error instanceof RelayerError ? `${error.status} ${error.details[0]?.message}` : error
}

test('signs 20 of 50 concurrent authorizations of 1 under a limit of 20 a day, on two services, and a token accepts each', async () => {
  const chain = await testChain()
  const first = await startTestService()
  const second = await startTestService({ DATA_DIR: first.data_dir })
  const { client } = first
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
  const coin = await deployToken(chain, relayer.address)
  await set(client, { token_limits: [{ asset: coin.address, max_amount_per_day: '20', allow_signatures: true }] })
  const documents = Array.from({ length: 50 }, (_, index) =>
    authorizationOf(domainOf(coin.address, local), { from: relayer.address, to, nonce: toBeHex(index, 32) }),
  )
  const results = await Promise.allSettled(
    documents.map((document, index) => sign((index % 2 ? first : second).client, document)),
  )
  const signed = results.flatMap((result, index) =>
    result.status === 'fulfilled' ? [{ message: documents[index]?.message, sig: result.value.data.sig }] : [],
  )
  expect(signed).toHaveLength(20)
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  expect(refused.map(({ status, details }) => `${status} ${details[0].path}`)).toEqual(
    Array(30).fill('403 policies/token_limits'),
  )
  for (const { message, sig } of signed) await coin.accept(message, sig)
  expect(await coin.balanceOf(to)).toBe(20n)
})

test('counts signatures and transfers in one sum', async () => {
  const { client } = await startTestService()
  await set(client, limitsOf('10'))
  const transfers = (amount: number) =>
    refusalOf(
      client.post('/api/v1/relayers/{relayer_id}/sign-transaction', {
        path: { relayer_id: 'demo' },
        body: {
          unsigned_transaction: unsigned({ to: token, data: erc20.encodeFunctionData('transfer', [to, amount]) }),
        },
      }),
    )
  const permits = (value: string) => refusalOf(sign(client, permitOf(own, { value })))
  const moves = (amount: string) =>
    refusalOf(sign(client, transferOf(domainOf(permit2, local), { token, amount, spender: to })))
  expect(await permits('6')).toEqual([])
  expect(await transfers(5)).toEqual(['token_limits'])
  expect(await transfers(2)).toEqual([])
  expect(await moves('3')).toEqual(['token_limits'])
  expect(await moves('2')).toEqual([])
  expect(await permits('1')).toEqual(['token_limits'])
  expect(await transfers(1)).toEqual(['token_limits'])
  // An unused permit stays counted, and a signature that moves nothing is free.
  expect(await permits('0')).toEqual([])
})

test.each<[string, SignTypedDataRequest, string]>([
  [
    'an amount above max_amount_per_transaction',
    permitOf(own, { value: '8' }),
    `403 8 of the token ${token} is above the limit of 7`,
  ],
  ["Dai's unlimited permit", daiPermitOf(own, { spender: to, allowed: true }), '403 1157920892373161954'],
  [
    'a domain without a chain id',
    { ...permitOf(own, {}), domain: { verifyingContract: token } },
    '403 token_limits cannot count typed data without chainId',
  ],
  [
    'another token',
    permitOf(domainOf(other, local), {}),
    `403 token_limits do not count signatures of the token ${other}`,
  ],
  [
    'another token by Permit2',
    transferOf(domainOf(permit2, local), { token: other, amount: 1, spender: to }),
    `403 token_limits do not count signatures of the token ${other}`,
  ],
  [
    'typed data that moves nothing',
    { domain: own, types: { A: [] }, primaryType: 'A', message: {} },
    `403 token_limits cannot count the type A() of the contract ${token}`,
  ],
  ['another chain', permitOf(domainOf(token, 1), {}), '400 chain id must be 31337'],
])('refuses %s', async (_name, document, reason) => {
  const { client } = await startTestService()
  await set(client, { token_limits: [{ asset: token, max_amount_per_transaction: '7', allow_signatures: true }] })
  expect(await reasonOf(sign(client, document))).toContain(reason)
  expect(await refusalOf(sign(client, permitOf(own, { value: '7' })))).toEqual([])
})

test('refuses hashes, and counts a document even when its domain is allowed', async () => {
  const { client } = await startTestService()
  const document = permitOf(own, { value: '7' })
  const { data: hashes } = await hashesOf(document)
  const blind = () =>
    client.post('/api/v1/relayers/{relayer_id}/sign-typed-data', { path: { relayer_id: 'demo' }, body: hashes })
  await set(client, limitsOf('10'))
  expect(await reasonOf(blind())).toContain('403 token_limits cannot count typed data from its hashes')
  await set(client, { ...limitsOf('10'), allowed_domain_separators: [hashes.domain_separator] })
  expect(await refusalOf(sign(client, document))).toEqual([])
  expect(await refusalOf(sign(client, document))).toEqual(['token_limits'])
  expect(await refusalOf(blind())).toEqual([])
})

test('counts against the relayer on the chain of the document, whichever relayer of the address signs', async () => {
  const { client } = await startTestService()
  const { id: signerId } = await createSigner(client)
  await client.post('/api/v1/networks', {
    body: { name: 'other', network_type: 'evm', chain_id: 77, rpc_urls: ['http://127.0.0.1:9'] },
  })
  const document = permitOf(own, { value: '7' })
  const { data: hashes } = await hashesOf(document)
  const allowedDomainSeparators = [hashes.domain_separator]
  await createRelayer(client, {
    id: 'here',
    signer_id: signerId,
    policies: { ...limitsOf('10'), allowed_domain_separators: allowedDomainSeparators },
  })
  await createRelayer(client, {
    id: 'there',
    signer_id: signerId,
    network: 'other',
    policies: { allowed_domain_separators: allowedDomainSeparators },
  })
  expect(await refusalOf(sign(client, document, 'there'))).toEqual([])
  expect(await refusalOf(sign(client, document, 'here'))).toEqual(['token_limits'])
  expect(await refusalOf(sign(client, document, 'there'))).toEqual(['token_limits'])
})

test('keeps limits of another chain out of a document that is counted on its own', async () => {
  const { client } = await startTestService()
  const { id: signerId } = await createSigner(client)
  await client.post('/api/v1/networks', {
    body: { name: 'other', network_type: 'evm', chain_id: 77, rpc_urls: ['http://127.0.0.1:9'] },
  })
  await createRelayer(client, { id: 'here', signer_id: signerId, policies: limitsOf('10') })
  await createRelayer(client, { id: 'there', signer_id: signerId, network: 'other', policies: limitsOf('1') })
  expect(await refusalOf(sign(client, permitOf(own, { value: '7' }), 'here'))).toEqual([])
})

test('counts only under a limit of amounts', async () => {
  const { client } = await startTestService()
  await expect(set(client, { token_limits: [{ asset: token, allow_signatures: true }] })).rejects.toMatchObject({
    status: 400,
    details: [
      {
        path: '/body/policies/token_limits/0/allow_signatures',
        message: 'needs max_amount_per_transaction or max_amount_per_day',
      },
    ],
  })
})

async function hashesOf(document: SignTypedDataRequest) {
  const { hashTypedData } = await import('../../server/domain/encoding/typed-data.ts')
  const { domain_separator, struct_hash } = hashTypedData(document)
  const [separator, hash] = [domain_separator, struct_hash].map((bytes) => `0x${bytes.toString('hex')}`)
  return { data: { domain_separator: separator as string, hash_struct_message: hash as string } }
}

async function deployToken(chain: Anvil, holder: string) {
  const provider = new JsonRpcProvider(chain.url, undefined, { cacheTimeout: -1, pollingInterval: 20 })
  onTestFinished(() => provider.destroy())
  const { abi, bytecode } = compileSolidity('CountedToken.sol', 'CountedToken')
  const wallet = new Wallet(chain.accounts[0]?.key as string, provider)
  const deployed = await new ContractFactory(abi, bytecode, wallet).deploy(holder, 1_000)
  await deployed.waitForDeployment()
  const address = (await deployed.getAddress()).toLowerCase()
  const contract = new Contract(address, abi, wallet)
  return {
    address,
    balanceOf: (of: string): Promise<bigint> => contract.getFunction('balanceOf')(of),
    /** Throws when the token refuses the signature. */
    async accept(message: SignTypedDataRequest['message'] | undefined, sig: string) {
      const { from, to, value, validAfter, validBefore, nonce } = message ?? {}
      const call = contract.getFunction('transferWithAuthorization')
      await (await call(from, to, value, validAfter, validBefore, nonce, sig)).wait()
    },
  }
}
