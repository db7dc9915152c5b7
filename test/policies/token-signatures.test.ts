import { id, TypedDataEncoder } from 'ethers'
import { expect, test } from 'vitest'
import type { SignTypedDataRequest } from '../../generated/openapi.ts'
import { hashTypedData } from '../../server/domain/encoding/typed-data.ts'
import { readTokenSignature } from '../../server/domain/policies/token-signatures.ts'
import {
  authorizationOf,
  batchAllowanceOf,
  batchTransferOf,
  daiPermitOf,
  domainOf,
  permit2,
  permitOf,
  singleAllowanceOf,
  transferOf,
} from '../support/token-documents.ts'

const [token, other, spender] = ['12', '34', '56'].map((byte) => `0x${byte.repeat(20)}`) as [string, string, string]
const chainId = 8453
const own = domainOf(token, chainId)
const shared = domainOf(permit2, chainId)
const witness = { Order: [{ name: 'amount', type: 'uint256' }] }

/** The amounts of each token, or why they are not counted. */
function read(document: SignTypedDataRequest) {
  const signature = readTokenSignature(hashTypedData(document))
  if (signature.outcome === 'uncounted') return signature.reason
  expect(signature.chain_id).toBe(BigInt(chainId))
  return Object.fromEntries([...signature.amounts].map(([name, amount]) => [name, `${amount}`]))
}

test.each<[string, SignTypedDataRequest, Record<string, string>]>([
  ['ERC-3009 transfer', authorizationOf(own, { value: '7' }), { [token]: '7' }],
  ['ERC-3009 receive', authorizationOf(own, { value: '0x07', type: 'ReceiveWithAuthorization' }), { [token]: '7' }],
  ['ERC-2612', permitOf(own, { value: 2n ** 256n - 1n, spender }), { [token]: `${2n ** 256n - 1n}` }],
  ["Dai's permit", daiPermitOf(own, { spender, allowed: true }), { [token]: `${2n ** 256n - 1n}` }],
  ["Dai's permit of nothing", daiPermitOf(own, { spender, allowed: false }), { [token]: '0' }],
  ['Permit2 transfer', transferOf(shared, { token, amount: '7', spender }), { [token]: '7' }],
  ['Permit2 transfer with a witness', transferOf(shared, { token, amount: '7', spender, witness }), { [token]: '7' }],
  [
    'Permit2 batch',
    batchTransferOf(shared, {
      permitted: [
        { token, amount: '7' },
        { token: other, amount: 1 },
        { token, amount: '0x3' },
      ],
      spender,
    }),
    { [token]: '10', [other]: '1' },
  ],
  [
    'Permit2 batch with a witness',
    batchTransferOf(shared, { permitted: [{ token, amount: '7' }], spender, witness }),
    { [token]: '7' },
  ],
  ['an empty Permit2 batch', batchTransferOf(shared, { permitted: [], spender }), {}],
  ['Permit2 allowance', singleAllowanceOf(shared, { token, amount: '7', spender }), { [token]: '7' }],
  [
    'Permit2 allowances',
    batchAllowanceOf(shared, {
      details: [
        { token, amount: '7' },
        { token: other, amount: '2' },
      ],
      spender,
    }),
    { [token]: '7', [other]: '2' },
  ],
])('reads the amounts of %s, and hashes it as ethers does', (_name, document, amounts) => {
  expect(read(document)).toEqual(amounts)
  const { EIP712Domain: _, ...types } = document.types
  const structHash = TypedDataEncoder.from(types).hash(document.message)
  expect(`0x${hashTypedData(document).struct_hash.toString('hex')}`).toBe(structHash)
})

test('names the types as the published type hashes have them', () => {
  const hashes = [authorizationOf(own, {}), authorizationOf(own, { type: 'ReceiveWithAuthorization' })]
    .concat(permitOf(own, { spender }), daiPermitOf(own, { spender, allowed: true }))
    .map((document) => id(hashTypedData(document).struct.text))
  expect(hashes).toEqual([
    '0x7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267',
    '0xd099cc98ef71107a616c4f0f941f04c322d8e254fe26b3c6668db87aae413de8',
    '0x6e71edae12b1b97f4d1f60370fef10105fa2faae0126114a169c64845d6126c9',
    '0xea2aa0a1be11a07ed86d755c93467f4f82362b452371d1ba94d1715123511acb',
  ])
})

const permit = permitOf(own, { value: '7', spender })
const transfer = transferOf(shared, { token, amount: '7', spender })
const members = (document: SignTypedDataRequest, name: string) => document.types[name] ?? []
const withType = (
  document: SignTypedDataRequest,
  name: string,
  type: SignTypedDataRequest['types'][string],
  message = document.message,
) => ({
  ...document,
  types: { ...document.types, [name]: type },
  message,
})

test.each<[string, SignTypedDataRequest, RegExp]>([
  ['without a chain id', { ...permit, domain: { ...own, chainId: undefined } as never }, /without chainId/],
  ['without a contract', { ...permit, domain: { chainId: chainId } }, /without a verifying contract/],
  [
    'a Permit with its members in another order',
    withType(permit, 'Permit', [...members(permit, 'Permit')].reverse()),
    /cannot count the type Permit\(uint256 deadline/,
  ],
  [
    'a Permit whose value has another type',
    withType(
      permit,
      'Permit',
      members(permit, 'Permit').map((one) => (one.name === 'value' ? { ...one, type: 'uint128' } : one)),
    ),
    /cannot count the type Permit\(/,
  ],
  [
    'a Permit with one more member',
    withType(permit, 'Permit', [...members(permit, 'Permit'), { name: 'more', type: 'bool' }], {
      ...permit.message,
      more: true,
    }),
    /cannot count the type Permit\(/,
  ],
  [
    'a type with a similar name',
    { ...permit, types: { Permits: members(permit, 'Permit') }, primaryType: 'Permits' },
    /Permits\(/,
  ],
  [
    'a Permit2 transfer of another contract',
    { ...transfer, domain: domainOf(token, chainId) },
    /of the contract 0x1212/,
  ],
  [
    'a Permit2 transfer whose permissions are others',
    withType(transfer, 'TokenPermissions', [...members(transfer, 'TokenPermissions')].reverse()),
    /cannot count the type PermitTransferFrom/,
  ],
  [
    'a Permit2 transfer with two witnesses',
    withType(
      transferOf(shared, { token, amount: '7', spender, witness }),
      'PermitWitnessTransferFrom',
      [
        ...members(transferOf(shared, { token, amount: '7', spender, witness }), 'PermitWitnessTransferFrom'),
        { name: 'second', type: 'uint256' },
      ],
      { ...transferOf(shared, { token, amount: '7', spender, witness }).message, second: 1 },
    ),
    /cannot count the type PermitWitnessTransferFrom/,
  ],
  [
    'a type named as a member of every object',
    { ...permit, types: { toString: [] }, primaryType: 'toString', message: {} },
    /toString\(\)/,
  ],
])('does not count %s', (_name, document, reason) => {
  expect(read(JSON.parse(JSON.stringify(document)))).toMatch(reason)
})
