import { Wallet } from 'ethers'
import { expect, test } from 'vitest'
import type { X402Request } from '../../client/index.ts'
import { type PaymentRig, paymentRig } from '../support/payment-rig.ts'
import { amount, authorizationIn, malleable, maxFee, signPayment, tokenAbi } from '../support/payments.ts'
import { until } from '../support/until.ts'

const requirementsOf = (request: X402Request) => request.paymentRequirements as Record<string, string>
const withBoth = (request: X402Request, change: object): X402Request => ({
  ...request,
  paymentPayload: {
    ...request.paymentPayload,
    accepted: { ...(request.paymentPayload.accepted as object), ...change },
  },
  paymentRequirements: { ...request.paymentRequirements, ...change },
})
const evm = 'invalid_exact_evm'
const another = `0x${'5'.repeat(40)}`

const refusals: Record<string, [(its: PaymentRig, payer: Wallet) => Promise<X402Request>, reason: string]> = {
  'that has expired': [
    ({ pay }, payer) => pay(payer, { validBefore: `${Math.floor(Date.now() / 1_000) + 3}` }),
    `${evm}_payload_authorization_valid_before`,
  ],
  'that is not valid yet': [
    ({ pay }, payer) => pay(payer, { validAfter: `${Math.floor(Date.now() / 1_000) + 300}` }),
    `${evm}_payload_authorization_valid_after`,
  ],
  'to another payee than asked for': [({ pay }, payer) => pay(payer, { to: another }), `${evm}_recipient_mismatch`],
  'to a payee that the facilitator does not pay': [
    ({ pay }, payer) => pay(payer, { to: another }, { payTo: another }),
    `${evm}_recipient_mismatch`,
  ],
  'in another asset': [({ pay }, payer) => pay(payer, {}, { asset: another }), 'asset_not_accepted'],
  'on another network': [({ pay }, payer) => pay(payer, {}, { network: 'eip155:1' }), `${evm}_network_mismatch`],
  'of another scheme': [({ pay }, payer) => pay(payer, {}, { scheme: 'upto' }), 'unsupported_scheme'],
  'of version 1': [
    async ({ pay }, payer) => {
      const { paymentPayload, ...request } = await pay(payer)
      return { ...request, paymentPayload: { ...paymentPayload, x402Version: 1 } }
    },
    'invalid_x402_version',
  ],
  'of Permit2': [
    async ({ pay }, payer) => {
      const { paymentPayload, ...request } = await pay(payer)
      return {
        ...request,
        paymentPayload: { ...paymentPayload, payload: { permit2Authorization: {}, signature: '0x' } },
      }
    },
    'invalid_payload',
  ],
  'above the largest amount': [
    ({ pay }, payer) => pay(payer, { value: '50001' }, { amount: '50001' }),
    'amount_too_large',
  ],
  'of less than asked for': [
    ({ pay }, payer) => pay(payer, { value: '9999' }),
    `${evm}_payload_authorization_value_mismatch`,
  ],
  'whose accepted requirements are others': [
    async ({ pay }, payer) => {
      const request = await pay(payer)
      return {
        ...request,
        paymentPayload: { ...request.paymentPayload, accepted: { ...requirementsOf(request), amount: '1' } },
      }
    },
    'accepted_mismatch',
  ],
  'with a forged signature': [
    ({ pay }, payer) => pay(payer, { signer: Wallet.createRandom() as unknown as Wallet }),
    `${evm}_signature`,
  ],
  'with a signature for another domain': [
    async ({ pay }, payer) => withBoth(await pay(payer), { extra: { name: 'USD Coin', version: '1' } }),
    `${evm}_signature`,
  ],
  'without the name of the domain': [
    async ({ pay }, payer) => withBoth(await pay(payer), { extra: { version: '2' } }),
    `${evm}_missing_eip712_domain`,
  ],
  'with the other s of the signature': [
    ({ pay }, payer) => pay(payer, { wrap: malleable }),
    `${evm}_transaction_simulation_failed`,
  ],
  'of a payer with too little': [
    ({ pay }) => pay(Wallet.createRandom() as unknown as Wallet),
    `${evm}_insufficient_balance`,
  ],
  'with a forged signature over an authorization that is settled': [
    async (its, payer) => {
      const request = await its.pay(payer)
      await its.submit(request)
      const { authorization } = authorizationIn(request)
      return its.pay(payer, { ...authorization, signer: Wallet.createRandom() as unknown as Wallet })
    },
    `${evm}_signature`,
  ],
  'whose nonce is used for something else': [
    async (its, payer) => {
      const request = await its.pay(payer)
      const { nonce } = authorizationIn(request).authorization
      await its.submit(await its.pay(payer, { nonce, to: another }))
      // The payee gets as much in another way.
      await its.submit(await its.pay(payer))
      return request
    },
    `${evm}_nonce_already_used`,
  ],
  'in an asset without a contract': [
    async (its, payer) => {
      const { revision } = await its.client.facilitators.get('shop')
      const assets = [{ asset: another, max_amount_per_payment: '10000' }]
      await its.client.facilitators.update('shop', { assets }, { revision })
      const valid = Math.floor(Date.now() / 1_000) + 600
      return signPayment(payer, { chain_id: 31_337, token: another, payee: its.payee, valid_before: valid })
    },
    `${evm}_eip3009_not_supported`,
  ],
}

test.each(Object.entries(refusals))('spends nothing for a payment %s', async (_name, [requestOf, reason]) => {
  const its = await paymentRig()
  const request = await requestOf(its, await its.newPayer())
  const before = await its.received()
  expect(await its.invalid(request)).toBe(reason)
  const { success, errorReason, transaction } = await its.settle(request)
  expect({ success, errorReason, transaction }).toEqual({ success: false, errorReason: reason, transaction: '' })
  expect([await its.transactions(), await its.received()]).toEqual([0, before])
  expect((await its.client.facilitators.get('shop')).usage.used).toBe('0')
})

test('settles a payment once, and tells its hash again and again', async () => {
  const its = await paymentRig()
  const request = await its.pay(await its.newPayer())
  expect(await its.invalid(request)).toBeUndefined()
  const first = await its.settle(request)
  expect(first).toMatchObject({
    success: true,
    transaction: expect.stringMatching(/^0x/),
    network: 'eip155:31337',
    amount,
  })
  expect(await its.settle(request)).toEqual(first)
  // It has bought an answer.
  expect(await its.invalid(request)).toBe(`${evm}_nonce_already_used`)
  expect(await its.received()).toBe(BigInt(amount))
  expect(await its.transactions()).toBe(1)
  const payment = await its.client.facilitators.getPayment('shop', first.extra?.payment ?? '')
  expect(payment).toMatchObject({ status: 'settled', hash: first.transaction, amount, error: null })
})

test('settles one payload of 20 callers by one transaction, and gives all the same answer', async () => {
  const its = await paymentRig({}, { relayers: 2 })
  const request = await its.pay(await its.newPayer())
  const answers = await Promise.all(Array.from({ length: 20 }, () => its.settle(request)))
  expect(answers[0]).toMatchObject({ success: true })
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
  expect([await its.transactions(), await its.received()]).toEqual([1, BigInt(amount)])
})

test('tells of a payment that is not mined in time that it is pending, with one hash, and later that it is settled', async () => {
  const its = await paymentRig({ wait_seconds: 1 }, { chain: { noMining: true } })
  const request = await its.pay(await its.newPayer())
  const answers = await Promise.all(Array.from({ length: 20 }, () => its.settle(request)))
  expect(answers[0]).toMatchObject({ success: false, errorReason: 'settlement_pending', transaction: /^0x.{64}$/ })
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
  // A server that repeats the request of its payer may go on.
  expect(await its.invalid(request)).toBeUndefined()
  await its.rig.chain.mine()
  await until('it is settled', async () => (await its.settle(request)).success)
  expect((await its.settle(request)).transaction).toBe(answers[0]?.transaction)
  expect(await its.received()).toBe(BigInt(amount))
})

test('tells of a payment that is under way also after the rules of its facilitator were changed', async () => {
  const its = await paymentRig({ wait_seconds: 0 }, { chain: { noMining: true } })
  const request = await its.pay(await its.newPayer())
  await until('it is sent', async () => (await its.settle(request)).transaction !== '')
  const { revision } = await its.client.facilitators.get('shop')
  await its.client.facilitators.update('shop', { pay_to: another }, { revision })
  expect(await its.settle(request)).toMatchObject({ success: false, errorReason: 'settlement_pending' })
  await its.rig.chain.mine()
  await until('it is settled', async () => (await its.settle(request)).success)
  expect((await its.settle(await its.pay(await its.newPayer()))).errorReason).toBe(`${evm}_recipient_mismatch`)
})

test('accepts 40 payments of 100 at once under a budget of 40, and counts what they paid once they are mined', async () => {
  const rules = { max_fee_per_day: `${maxFee * 40n}`, wait_seconds: 0 }
  const its = await paymentRig(rules, { relayers: 2, chain: { noMining: true } })
  const payer = await its.newPayer()
  const requests = await Promise.all(Array.from({ length: 100 }, () => its.pay(payer)))
  const answers = await Promise.all(requests.map(its.settle))
  const reasons = Map.groupBy(answers, ({ errorReason }) => errorReason)
  expect([reasons.get('settlement_pending')?.length, reasons.get('budget_used_up')?.length]).toEqual([40, 60])
  const usage = async () => (await its.client.facilitators.get('shop')).usage
  expect(await usage()).toMatchObject({ used: `${maxFee * 40n}`, remaining: '0' })
  expect(await its.invalid(await its.pay(payer))).toBe('budget_used_up')
  await until(
    'all are settled',
    async () => (await its.received()) === BigInt(amount) * 40n && BigInt((await usage()).used) < maxFee,
    () => its.rig.chain.mine(),
  )
  expect(await its.transactions()).toBe(40)
})

test('refuses a payment whose fee would be above the highest one', async () => {
  const its = await paymentRig({ max_fee_per_payment: '1' })
  expect(await its.settle(await its.pay(await its.newPayer()))).toMatchObject({ errorReason: 'max_fee_exceeded' })
  expect(await its.transactions()).toBe(0)
})

test('tells the hash of somebody else who submitted the authorization before', async () => {
  const its = await paymentRig()
  const request = await its.pay(await its.newPayer())
  const hash = await its.submit(request)
  expect(await its.settle(request)).toMatchObject({ success: true, transaction: hash })
  expect(await its.transactions()).toBe(0)
})

test('withdraws its transaction when somebody else is first, and tells his hash', async () => {
  const its = await paymentRig({ wait_seconds: 0 })
  const request = await its.pay(await its.newPayer())
  await its.rig.proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
  const { transaction, errorReason, extra } = await its.settle(request)
  expect(errorReason).toBe('settlement_pending')
  const hash = await its.submit(request)
  await until('it is settled', async () => (await its.settle(request)).success)
  expect((await its.settle(request)).transaction).toBe(hash)
  expect(hash).not.toBe(transaction)
  await its.rig.proxy.setFault(undefined)
  const { relayer_id, transaction_id } = await its.client.facilitators.getPayment('shop', extra?.payment ?? '')
  const state = async () => (await its.client.transactions.getRelayerTransaction(relayer_id, transaction_id)).status
  await until('ours has ended', async () => ['canceled', 'failed'].includes(await state()))
  expect((await its.settle(request)).transaction).toBe(hash)
  expect(await its.received()).toBe(BigInt(amount))
})

test('keeps the ceiling of a cancellation when it withdraws the transaction because somebody else is first', async () => {
  const its = await paymentRig({ wait_seconds: 0 })
  const request = await its.pay(await its.newPayer())
  await its.rig.proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
  await until('it is signed', async () => (await its.settle(request)).transaction !== '')
  const { extra } = await its.settle(request)
  const { relayer_id, transaction_id } = await its.client.facilitators.getPayment('shop', extra?.payment ?? '')
  const ceiling = `${10n ** 11n}`
  await its.client.delete('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
    path: { relayer_id, transaction_id },
    query: { max_fee_per_gas: ceiling },
  })
  await its.submit(request)
  await until('it is settled', async () => (await its.settle(request)).success)
  const { status, figures } = await its.client.transactions.getExplanation(transaction_id)
  expect([status, figures.requested_max_fee_per_gas]).toEqual(['sent', ceiling])
})

test('does not tell its revert as a failure when somebody else is first in the same block', async () => {
  const its = await paymentRig({ wait_seconds: 0 }, { chain: { noMining: true } })
  const request = await its.pay(await its.newPayer())
  await until('it is sent', async () => (await its.settle(request)).transaction !== '')
  const { provider } = its
  const { authorization, signature } = authorizationIn(request)
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const data = tokenAbi.encodeFunctionData('transferWithAuthorization', [
    ...[from, to, value, validAfter, validBefore, nonce, signature],
  ])
  const other = new Wallet(its.rig.chain.accounts[8]?.key ?? '', provider)
  const prices = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 5n * 10n ** 10n, gasLimit: 200_000 }
  const { hash } = await other.sendTransaction({ to: its.token, data, ...prices })
  await its.rig.chain.mine()
  await until('it is settled', async () => (await its.settle(request)).success)
  expect((await its.settle(request)).transaction).toBe(hash)
  expect(await its.received()).toBe(BigInt(amount))
})

test('tells a failure only once the authorization cannot be used any more', async () => {
  const its = await paymentRig({ wait_seconds: 0 }, { chain: { noMining: true } })
  const payer = await its.newPayer()
  const request = await its.pay(payer)
  await until('it is sent', async () => (await its.settle(request)).transaction !== '')
  // The payer's balance is gone before it is mined.
  const { rig } = its
  await rig.chain.rpc('anvil_impersonateAccount', [payer.address])
  await rig.chain.setBalance(payer.address, 10n ** 18n)
  const data = tokenAbi.encodeFunctionData('transfer', [another, 1_000_000n])
  const spend = {
    from: payer.address,
    to: its.token,
    data,
    gas: '0x30d40',
    maxPriorityFeePerGas: '0xba43b7400',
    maxFeePerGas: '0x174876e800',
  }
  await rig.chain.rpc('eth_sendTransaction', [spend])
  await rig.chain.mine()
  const { extra } = await its.settle(request)
  const payment = () => its.client.facilitators.getPayment('shop', extra?.payment ?? '')
  const { relayer_id, transaction_id } = await payment()
  await until(
    'it has reverted',
    async () => (await its.client.transactions.getRelayerTransaction(relayer_id, transaction_id)).status === 'failed',
  )
  expect(await its.settle(request)).toMatchObject({ success: false, errorReason: 'settlement_pending' })
  // Its outcome does not depend on its relayer, which may be deleted.
  await its.client.relayers.delete(relayer_id)
  expect(await its.settle(request)).toMatchObject({ success: false, errorReason: 'settlement_pending' })
  await rig.chain.rpc('evm_increaseTime', [700])
  await rig.chain.mine()
  await until('it is told', async () => (await payment()).status === 'failed')
  expect(await its.settle(request)).toMatchObject({ success: false, errorReason: `${evm}_transaction_failed` })
  expect((await payment()).error).toEqual({
    code: `${evm}_transaction_failed`,
    message: 'The transaction failed',
  })
})

test('settles payments of contracts (ERC-1271), and of those that do not exist yet (ERC-6492)', async () => {
  const its = await paymentRig()
  const owner = Wallet.createRandom() as unknown as Wallet
  const { address, wrap } = await its.wallet(owner)
  await its.mint(address)
  // 66 bytes: it is no signature of a key.
  const forged = await its.pay(owner, { from: address, signer: Wallet.createRandom() as unknown as Wallet, wrap })
  expect(await its.invalid(forged)).toBe(`${evm}_transaction_simulation_failed`)
  expect((await its.settle(forged)).errorReason).toBe(`${evm}_transaction_simulation_failed`)
  expect(await its.invalid(await its.pay(owner, { from: address }))).toBe(`${evm}_signature`)
  const first = await its.pay(owner, { from: address, wrap })
  expect(await its.invalid(first)).toBeUndefined()
  expect(await its.settle(first)).toMatchObject({ success: true, payer: address })
  // It exists by now, and may still wrap its signatures.
  for (const own of [{}, { wrap }]) {
    const request = await its.pay(owner, { from: address, ...own })
    expect(await its.invalid(request)).toBeUndefined()
    expect(await its.settle(request)).toMatchObject({ success: true, payer: address })
  }
  expect(await its.received()).toBe(3n * BigInt(amount))
  expect(
    await its.invalid({
      ...forged,
      paymentPayload: {
        ...forged.paymentPayload,
        payload: { ...authorizationIn(forged), signature: `0x${'ff'.repeat(200)}${'6492'.repeat(16)}` },
      },
    }),
  ).toBe('invalid_payload')
})
