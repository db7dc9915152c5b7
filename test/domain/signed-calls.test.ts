import { AbiCoder, Interface, zeroPadValue } from 'ethers'
import { expect, test } from 'vitest'
import { readSignedCall } from '../../server/domain/encoding/signed-calls.ts'
import { judgeCall } from '../../server/domain/policies/sponsored-calls.ts'
import { failing } from '../support/failure.ts'

const [owner, other] = ['0x00000000000000000000000000000000000000aa', '0x00000000000000000000000000000000000000bb']
const bytes32 = zeroPadValue('0x07', 32)
const until = 1_900_000_000
const word = (value: string | number) => BigInt(value).toString(16).padStart(64, '0')

const ofOwner = word(owner)
const withNonce = `${word(owner)} ${word(7)}`
const ofPermit2 = `${word(7)} ${word(owner)}`

const third = '0x00000000000000000000000000000000000000cc'
const permit = new Interface([
  'function permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
]).encodeFunctionData('permit', [owner, other, 5, until, 27, bytes32, bytes32])
const forwarder = new Interface(['function execute((address,address,uint256,uint256,uint48,bytes,bytes))'])
const account = new Interface(['function execute(bytes32,bytes)'])
const mode = `0x${'01000000000078210001'.padEnd(64, '0')}`

test.each<[string, unknown[], string]>([
  [
    'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
    [owner, other, 5, until, 27, bytes32, bytes32],
    ofOwner,
  ],
  ['permit(address,address,uint256,uint256,bytes)', [owner, other, 5, until, '0x1234'], ofOwner],
  [
    'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)',
    [owner, other, 3, until, true, 27, bytes32, bytes32],
    ofOwner,
  ],
  [
    'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
    [owner, other, 5, 1, until, bytes32, 27, bytes32, bytes32],
    withNonce,
  ],
  [
    'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
    [owner, other, 5, 1, until, bytes32, '0x1234'],
    withNonce,
  ],
  [
    'receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
    [owner, other, 5, 1, until, bytes32, 27, bytes32, bytes32],
    withNonce,
  ],
  [
    'receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
    [owner, other, 5, 1, until, bytes32, '0x1234'],
    withNonce,
  ],
  [
    'permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)',
    [owner, [[other, 5, 9, 1], other, until], '0x1234'],
    ofOwner,
  ],
  [
    'permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)',
    [[[other, 5], 7, until], [other, 5], owner, '0x1234'],
    ofPermit2,
  ],
  [
    'permitWitnessTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes32,string,bytes)',
    [[[other, 5], 7, until], [other, 5], owner, bytes32, 'Witness', '0x1234'],
    ofPermit2,
  ],
])('finds the order and the deadline of %s', (signature, values, order) => {
  const data = new Interface([`function ${signature}`]).encodeFunctionData(signature.split('(')[0] ?? '', values)
  expect(readSignedCall(data)).toEqual({ order, deadline: BigInt(until) })
  // What a short call lacks is read as zeros, as a contract reads it.
  expect(readSignedCall(data.slice(0, 20))).toMatchObject({ deadline: undefined })
})

test('knows nothing of other functions', () => {
  for (const data of ['0x', '0x12345678', `0xa9059cbb${word(owner)}${word(until)}`]) {
    expect(readSignedCall(data)).toBeUndefined()
  }
})

test('keeps the order of permits that are plain calls, and ends calls with the first deadline in them', () => {
  const rules = {
    ...{ targets: [{ address: other, selectors: [permit.slice(0, 10)] }], forwarders: [owner], delegates: [owner] },
    ...{
      keyed_nonce_delegates: [],
      max_gas_per_call: 300_000,
      max_fee_per_call: '1',
      max_fee_per_day: '1',
      user_limits: null,
      origins: [],
    },
  }
  const judged = (to: string, data: string) => judgeCall(rules, { to, data }, 0)
  const validUntil = new Date(until * 1_000).toISOString()
  expect(judged(other, permit)).toMatchObject({
    kind: 'plain',
    exclusive_key: `${other} ${ofOwner}`,
    valid_until: validUntil,
  })
  const forward = (deadline: number) =>
    forwarder.encodeFunctionData('execute', [[third, other, 0, 100_000, deadline, permit, '0x12']])
  expect(judged(owner, forward(until + 1))).toMatchObject({
    kind: 'forward',
    exclusive_key: `${owner} ${third}`,
    valid_until: validUntil,
  })
  expect(judged(owner, forward(until - 1)).valid_until).toBe(new Date((until - 1) * 1_000).toISOString())
  const calls = AbiCoder.defaultAbiCoder().encode(
    ['tuple(address,uint256,bytes)[]', 'bytes'],
    [[[other, 0, permit]], '0x'],
  )
  const batch = account.encodeFunctionData('execute', [mode, calls])
  expect(judged(third, batch)).toMatchObject({ kind: 'account', exclusive_key: third, valid_until: validUntil })
  const late = `${permit.slice(0, 10 + 3 * 64)}${'f'.repeat(64)}${permit.slice(10 + 4 * 64)}`
  expect(judged(other, late).valid_until).toBeNull()
  expect(failing(() => judgeCall(rules, { to: other, data: permit }, until * 1_000))).toThrow(
    expect.objectContaining({
      details: [expect.objectContaining({ path: '/body/data', message: 'the deadline of what was signed has passed' })],
    }),
  )
})
