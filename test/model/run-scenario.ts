import { type RelayerClient, RelayerError, type RelayerPoliciesInput, type Transaction } from '../../client/index.ts'
import { parse, type SignedTransaction } from './chain.ts'
import { judge } from './judge.ts'
import { confirmations, type Scenario, type Step } from './steps.ts'
import { openWorld, type World } from './world.ts'

/** What was asked for one transaction. Every value is unique, so that a transfer on chain names its transaction. */
export interface Asked {
  accepted_at_ms: number
  /** Its own and those of its replacements. */
  values: bigint[]
  may_end_withdrawn: boolean
}

/** What happened, beside what the service and the chain know. */
export interface History {
  asked: Map<string, Asked>
  /** What somebody else signed with the key, by hash. */
  foreign: Map<string, SignedTransaction>
  /** A nonce that was used elsewhere was free again later. */
  was_foreign_removed: boolean
  was_price_lie_told: boolean
  /** An operator asked to heal while the only node lied: then its count is believed on request. */
  was_lie_healed: boolean
  peak_base_fee: bigint
  /** The highest price that a caller gave, in wei. */
  given_price: bigint
  internal_errors: string[]
  /** Not ended after the faults had stopped. */
  unfinished: Transaction[]
}

export interface Result {
  violations: string[]
  accepted: number
  crashes: number
}

export const policies: RelayerPoliciesInput = { max_value_per_day: `${8n * 10n ** 15n + 10_000n}` }
const one_transfer = 10n ** 15n
const funds = 10n ** 18n
const gwei = 10n ** 9n
const receiver = `0x${'5a'.repeat(20)}`
const someone = `0x${'0e'.repeat(20)}`
const block_ms = 2_000
const starved_ms = 60_000
const tip = gwei

/** Carries out the steps against a fresh service, ends all faults, waits for the end of what was accepted, and judges. */
export async function runScenario({ nodes, shares_key, seed, steps }: Scenario): Promise<Result> {
  const world = await openWorld({ nodes, confirmations, policies, seed })
  const history: History = {
    asked: new Map(),
    foreign: new Map(),
    was_foreign_removed: false,
    was_price_lie_told: false,
    was_lie_healed: false,
    peak_base_fee: world.chain.prices.base_fee,
    given_price: 0n,
    internal_errors: [],
    unfinished: [],
  }
  const act = createActor(world, history, nodes, shares_key)
  try {
    for (const step of steps) {
      await act(step)
      await world.pass(block_ms / 2, 2)
    }
    await finish(world, history, act)
    return {
      violations: await judge(world, history, policies),
      accepted: history.asked.size,
      crashes: world.crashes(),
    }
  } finally {
    await world.close()
  }
}

function createActor(
  world: World,
  history: History,
  node_count: number,
  shares_key: boolean,
): (step: Step) => Promise<void> {
  const { chain, nodes, relayer_id, address, ask } = world
  const path = { relayer_id }
  let values = 0
  let isOnlyNodeLying = false

  const nextValue = () => {
    values += 1
    return one_transfer + BigInt(values)
  }
  /** Refusals are part of the game; what the service cannot explain is not. */
  const tolerant = async (question: (client: RelayerClient) => Promise<unknown>) => {
    try {
      await ask(question)
    } catch (error) {
      if (!(error instanceof RelayerError)) throw error
      if (error.status === 500) history.internal_errors.push(error.message)
    }
  }
  const pick = (which: number) => [...history.asked][which % Math.max(1, history.asked.size)]
  const given = (gas_price_gwei: number | null) => {
    if (gas_price_gwei === null) return {}
    const price = BigInt(gas_price_gwei) * gwei
    if (price > history.given_price) history.given_price = price
    return { gas_price: `${price}` }
  }
  const allNodes = (name: string | undefined) => {
    for (let node = 0; node < node_count; node += 1) nodes.setManner(node, name)
  }
  const withdrawable = (ids: Iterable<Asked>) => {
    for (const asked of ids) asked.may_end_withdrawn = true
  }

  async function send(step: Step & { do: 'send' }): Promise<void> {
    for (let time = 0; time < step.count; time += 1) {
      const value = nextValue()
      const speed = step.gas_price_gwei === null ? { speed: step.tier } : given(step.gas_price_gwei)
      const until = new Date(world.clock.now() + (step.valid_s ?? 0) * 1_000).toISOString()
      const body = { to: receiver, value: `${value}`, ...speed, ...(step.valid_s !== null && { valid_until: until }) }
      await tolerant(async (client) => {
        const header = { 'Idempotency-Key': `send-${value}` }
        const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', { path, header, body })
        const asked = {
          accepted_at_ms: world.clock.elapsed(),
          values: [value],
          may_end_withdrawn: step.valid_s !== null,
        }
        if (!history.asked.has(data.id)) history.asked.set(data.id, asked)
      })
    }
  }

  async function foreign(where: 'block' | 'pool', ahead: number): Promise<void> {
    if (!shares_key) return
    const nonce = chain.stateOf(address).nonce + (where === 'block' ? 0 : ahead)
    const transaction = parse(await signForeign(world, nonce))
    history.foreign.set(transaction.hash, transaction)
    if (where === 'block') chain.mineOnly([transaction])
    else chain.pool.set(`${address} ${nonce}`, transaction)
  }

  async function reorganize(step: Step & { do: 'reorg' }): Promise<void> {
    // With a nonce that was used elsewhere, and then was not, beyond all confirmations nobody can be right.
    const depth = shares_key ? Math.min(step.depth, confirmations - 1) : step.depth
    const kept = Math.max(0, chain.blocks().length - 1 - depth)
    const first = chain.stateOf(address, chain.blocks()[kept]).nonce
    const rivals: SignedTransaction[] = []
    if (shares_key && step.outcome === 'rival' && first < chain.stateOf(address).nonce)
      rivals.push(parse(await signForeign(world, first)))
    for (const rival of rivals) history.foreign.set(rival.hash, rival)
    const removed = chain.reorganize(depth, step.outcome === 'drop', rivals)
    if (removed.some(({ hash }) => history.foreign.has(hash))) history.was_foreign_removed = true
  }

  return async (step) => {
    switch (step.do) {
      case 'send':
        return send(step)
      case 'replace': {
        const [id, asked] = pick(step.which) ?? []
        if (id === undefined || !asked) return
        const value = nextValue()
        asked.values.push(value)
        const body = { to: receiver, value: `${value}`, ...given(step.gas_price_gwei) }
        const replaced = { path: { relayer_id, transaction_id: id }, body }
        return tolerant((client) => client.put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', replaced))
      }
      case 'cancel': {
        const [id, asked] = pick(step.which) ?? []
        if (id === undefined || !asked) return
        asked.may_end_withdrawn = true
        const canceled = { path: { relayer_id, transaction_id: id } }
        return tolerant((client) =>
          client.delete('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', canceled),
        )
      }
      case 'cancel_all':
        withdrawable(history.asked.values())
        return tolerant((client) => client.delete('/api/v1/relayers/{relayer_id}/transactions/pending', { path }))
      case 'pause':
      case 'resume': {
        const body = { paused: step.do === 'pause' }
        return tolerant((client) => client.patch('/api/v1/relayers/{relayer_id}', { path, body }))
      }
      case 'heal':
        history.was_lie_healed ||= isOnlyNodeLying
        return tolerant((client) => client.post('/api/v1/relayers/{relayer_id}/nonce/heal', { path }))
      case 'drain':
        return chain.setBalance(address, 0n)
      case 'fund':
        return chain.setBalance(address, funds)
      case 'drop_pool':
        return chain.pool.clear()
      case 'honest':
        isOnlyNodeLying = false
        return allNodes(undefined)
      case 'foreign':
        return foreign(step.where, step.ahead)
      case 'mine':
        for (let block = 0; block < step.blocks; block += 1) {
          chain.mine(step.limit)
          await world.pass(block_ms, 2)
        }
        return
      case 'starve':
        for (let block = 0; block < step.blocks; block += 1) {
          chain.mine(0)
          await world.pass(starved_ms, 1)
        }
        return
      case 'reorg':
        return reorganize(step)
      case 'trouble':
        return allNodes(step.name)
      case 'lie':
        if (step.name.includes('price')) history.was_price_lie_told = true
        isOnlyNodeLying = node_count === 1
        return nodes.setManner(0, step.name)
      case 'base_fee':
        chain.prices.base_fee = BigInt(step.gwei) * gwei
        if (chain.prices.base_fee > history.peak_base_fee) history.peak_base_fee = chain.prices.base_fee
        return
      case 'time':
        return world.pass(step.s * 1_000, 20)
      case 'crash':
        return step.send === 0 ? world.crash() : world.crashAt(step.send, step.before)
    }
  }
}

function signForeign({ wallet, chain }: World, nonce: number): Promise<string> {
  const { base_fee } = chain.prices
  return wallet.signTransaction({
    type: 2,
    chainId: 31_337,
    nonce,
    to: someone,
    value: 7n,
    gasLimit: 21_000n,
    maxFeePerGas: base_fee * 4n + tip,
    maxPriorityFeePerGas: tip,
  })
}

/** Blocks and time enough for every bounded wait of the service: first blocks, then hours. */
const endings: { rounds: number; ms: number }[] = [
  { rounds: 40, ms: 2_000 },
  { rounds: 20, ms: 20_000 },
  { rounds: 40, ms: 300_000 },
]

async function finish(world: World, history: History, act: (step: Step) => Promise<void>): Promise<void> {
  const { chain, relayer_id, ask } = world
  const path = { relayer_id }
  await act({ do: 'honest' })
  await act({ do: 'base_fee', gwei: 10 })
  await act({ do: 'fund' })
  await act({ do: 'resume' })
  // Foreign bytes that no block can take leave the pools, as nodes evict them; those that can are mined.
  for (const [slot, { hash, max_fee }] of chain.pool) {
    if (history.foreign.has(hash) && max_fee < chain.prices.base_fee) chain.pool.delete(slot)
  }

  const isFinished = async () => {
    const query = { per_page: 1_000 }
    const { data } = await ask((client) => client.get('/api/v1/relayers/{relayer_id}/transactions/', { path, query }))
    history.unfinished = data.filter(({ status }) => !ended.has(status))
    return history.unfinished.length === 0
  }
  const waitInVain = async (rounds: number, ms: number) => {
    for (let round = 0; round < rounds; round += 1) {
      chain.mine()
      await world.pass(ms, 4)
      if (await isFinished()) return false
    }
    return true
  }

  for (const { rounds, ms } of endings) {
    if (!(await waitInVain(rounds, ms))) return
    // Only a disabled relayer waits for its operator.
    const { data: relayer } = await ask((client) => client.get('/api/v1/relayers/{relayer_id}', { path }))
    if (relayer.system_disabled) await act({ do: 'heal' })
  }
}

const ended: ReadonlySet<string> = new Set(['confirmed', 'failed', 'canceled', 'expired'])
