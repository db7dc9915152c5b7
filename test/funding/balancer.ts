import type { ReplaceFundingRequest } from '../../client/index.ts'
import type { Fault } from '../support/fault-proxy.ts'
import { startRig } from '../support/rig.ts'
import { until } from '../support/until.ts'

/** One URL over two honest nodes, one of which is behind. */
export interface Balancer {
  /** The lag in blocks: always this many, or one drawn from 1 to this many. */
  lag: number
  drawn: 'fixed' | 'random'
  /** Whether a request goes to one node as a whole, or each call of it for itself. */
  by: 'request' | 'call'
  rounds: number
  seed: number
}

export interface BalancerOutcome {
  rounds: number
  refills: number
  /** Rounds with more than one refill. */
  doubled: number
  /** What the relayer has in the end, above its target. */
  excess_eth: number
}

const ether = 10n ** 18n
const base = '/api/v1/relayers/{relayer_id}/funding'
/** How often a relayer is examined after its refill: more blocks than any lag has. */
const looksAfter = 8

/** In each round the relayer is emptied, and then examined at every block until well after its refill. */
export async function refillBehind({ lag, drawn, by, rounds, seed }: Balancer): Promise<BalancerOutcome> {
  const rig = await startRig({ chain: { noMining: true } })
  try {
    const client = rig.client()
    const treasury = await rig.addAccount()
    const relayer = await rig.addAccount()
    const path = { relayer_id: relayer.relayer_id }
    const target = 4n * ether
    const settings: ReplaceFundingRequest = {
      treasury_id: treasury.relayer_id,
      min_balance: `${ether}`,
      target_balance: `${target}`,
      max_amount_per_day: `${10_000n * ether}`,
      max_fee_per_gas: '100000000000',
    }
    await rig.chain.mine(8)
    await client.put(base, { path, body: settings })
    const fault: Fault = {
      kind: 'stale',
      probability: 0.5,
      seed,
      ...(drawn === 'fixed' ? { blocks: lag } : { up_to_blocks: lag }),
      ...(by === 'request' && { whole_requests: true }),
    }
    await rig.proxy.setFault(fault)
    const countOf = async () => (await treasury.transactions()).length
    let doubled = 0
    for (let round = 0; round < rounds; round += 1) {
      const before = await countOf()
      await rig.chain.setBalance(relayer.address, 0n)
      const look = async () => {
        await client.put(base, { path, body: settings })
        await rig.chain.mine()
      }
      await until(
        'a refill has ended',
        async () => {
          const { refills } = (await client.get(base, { path })).data
          return (await countOf()) > before && refills.every(({ is_open }) => !is_open)
        },
        look,
      )
      for (let looks = 0; looks < looksAfter; looks += 1) {
        await look()
        await until('it is examined', async () => (await client.get(base, { path })).data.status !== 'refilling', look)
      }
      if ((await countOf()) - before > 1) doubled += 1
    }
    const balance = BigInt(await rig.chain.rpc<string>('eth_getBalance', [relayer.address, 'latest']))
    return { rounds, refills: await countOf(), doubled, excess_eth: Number((balance - target) / 10n ** 15n) / 1_000 }
  } finally {
    await rig.stop()
  }
}
