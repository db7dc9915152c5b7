import {
  type CreateFacilitatorRequest,
  createRelayerClient,
  type Facilitator,
  type RelayerClient,
  type X402Request,
  type X402Settled,
} from '../../client/index.ts'
import { deployMoney, type Money } from './payments.ts'
import type { Account, Rig, RigOptions } from './rig.ts'
import { testRig } from './test-rig.ts'

/** What a test does with one facilitator. */
export interface PaymentRig extends Money {
  rig: Rig
  client: RelayerClient
  facilitator: Facilitator
  token_of_key: string
  accounts: Account[]
  /** By the key of the facilitator. */
  settle(request: X402Request): Promise<X402Settled>
  /** The reason why it is not valid; undefined: it is. */
  invalid(request: X402Request): Promise<string | undefined>
  /** Of all relayers of the pool. */
  transactions(): Promise<number>
}

/** A chain with a token, a service, and a facilitator over a pool of relayers with its key. */
export async function paymentRig(
  rules: Partial<CreateFacilitatorRequest> = {},
  options: RigOptions & { relayers?: number } = {},
): Promise<PaymentRig> {
  const rig = await testRig(options)
  const accounts = await Promise.all(Array.from({ length: options.relayers ?? 1 }, () => rig.addAccount()))
  const client = rig.client()
  const money = await deployMoney(rig.chain, options.chain?.noMining ? rig.chain.mine : undefined)
  await client.pools.create({
    ...{ id: 'payers', network: 'local', relayer_ids: accounts.map(({ relayer_id }) => relayer_id) },
  })
  const { facilitator, token } = await client.facilitators.create({ ...money.rules, pool_id: 'payers', ...rules })
  const own = createRelayerClient({ baseUrl: rig.url(), token })
  return {
    ...{ ...money, rig, client, facilitator, token_of_key: token, accounts },
    settle: (request) => own.facilitators.settlePayment('shop', request),
    async invalid(request) {
      const { isValid, invalidReason } = await own.facilitators.verifyPayment('shop', request)
      return isValid ? undefined : invalidReason
    },
    async transactions() {
      const all = await Promise.all(accounts.map((account) => account.transactions()))
      return all.flat().length
    },
  }
}
