import { type RelayerClient, RelayerError, type RelayerPoliciesInput } from '../../client/index.ts'
import { parse, type SignedTransaction } from './chain.ts'
import type { History } from './history.ts'
import { judge } from './judge.ts'
import { confirmations, maxDepth, type Scenario, type Step } from './steps.ts'
import { openWorld, type World } from './world.ts'

export interface Result {
  violations: string[]
  accepted: number
  /** Of them, through the pool. */
  pooled: number
  /** Refills that are on the chain at the end. */
  refills: number
  crashes: number
}

export const policies: RelayerPoliciesInput = { max_value_per_day: `${8n * 10n ** 15n + 10_000n}` }
export const poolPolicies = { max_value_per_day: `${12n * 10n ** 15n + 10_000n}` }
export const funding = {
  min_balance: `${10n ** 17n}`,
  target_balance: `${5n * 10n ** 17n}`,
  // One whole refill and a part of another one.
  max_amount_per_day: `${7n * 10n ** 17n}`,
  max_fee_per_gas: `${100n * 10n ** 9n}`,
}
const submissions = {
  private: { mode: 'private' },
  private_then_public: { mode: 'private_then_public', after_blocks: 3 },
} as const
const oneTransfer = 10n ** 15n
const funds = 10n ** 18n
const gwei = 10n ** 9n
const receiver = `0x${'5a'.repeat(20)}`
const someone = `0x${'0e'.repeat(20)}`
const blockMs = 2_000
const starvedMs = 60_000
const tip = gwei

/** Carries out the steps against a fresh service, ends all faults, waits for the end of what was accepted, and judges. */
export async function runScenario({ nodes, shares_key, pool, seed, steps }: Scenario): Promise<Result> {
  const world = await openWorld({
    ...{ nodes, confirmations, policies, seed },
    pool: pool ? { policies: poolPolicies, funding } : undefined,
  })
  const history: History = {
    asked: new Map(),
    foreign: new Map(),
    given_back: new Set(),
    was_price_lie_told: false,
    was_final_block_removed: false,
    peak_gas: 0n,
    did_only_node_refuse: false,
    peak_base_fee: world.chain.prices.base_fee,
    internal_errors: [],
    unfinished: [],
  }
  const act = createActor(world, history, nodes, shares_key)
  try {
    for (const step of steps) {
      await act(step)
      await world.pass(blockMs / 2, 2)
    }
    await finish(world, history, act)
    return {
      violations: await judge(world, history, { relayer: policies, pool: poolPolicies, funding }),
      accepted: history.asked.size,
      pooled: [...history.asked.values()].filter(({ in_pool }) => in_pool).length,
      refills: world.chain.mined().filter(({ transaction: { from } }) => from === world.treasury?.address).length,
      crashes: world.crashes(),
    }
  } finally {
    await world.close()
  }
}

function createActor(
  world: World,
  history: History,
  nodeCount: number,
  sharesKey: boolean,
): (step: Step) => Promise<void> {
  const { chain, nodes, relayer_id, address, ask } = world
  const path = { relayer_id }
  let values = 0

  const nextValue = () => {
    values += 1
    return oneTransfer + BigInt(values)
  }
  /** Refused requests are expected; internal errors are not. */
  const tolerant = async (question: (client: RelayerClient) => Promise<unknown>): Promise<boolean> => {
    const crashes = world.crashes()
    try {
      await ask(question)
      return true
    } catch (error) {
      if (!(error instanceof RelayerError)) throw error
      if (error.status === 500) history.internal_errors.push(error.message)
      // A request that was repeated after a crash may have had its effect the first time.
      return world.crashes() > crashes
    }
  }
  const pick = (which: number) => [...history.asked][which % Math.max(1, history.asked.size)]
  const given = (gasPriceGwei: number | null) =>
    gasPriceGwei === null ? {} : { gas_price: `${BigInt(gasPriceGwei) * gwei}` }
  const priceOf = (gasPriceGwei: number | null) => BigInt(gasPriceGwei ?? 0) * gwei
  const allNodes = (name: string | undefined) => {
    for (let node = 0; node < nodeCount; node += 1) nodes.setManner(node, name)
  }
  async function send(step: Step & { do: 'send' }): Promise<void> {
    for (let time = 0; time < step.count; time += 1) {
      const value = nextValue()
      const speed = step.gas_price_gwei === null ? { speed: step.tier } : given(step.gas_price_gwei)
      const until = new Date(world.clock.now() + (step.valid_s ?? 0) * 1_000).toISOString()
      const body = {
        ...{ to: receiver, value: `${value}`, ...speed },
        ...(step.valid_s !== null && { valid_until: until }),
        ...(step.submission && { submission: submissions[step.submission] }),
        ...(step.gas_limit && { gas_limit: step.gas_limit }),
      }
      await tolerant(async (client) => {
        const header = { 'Idempotency-Key': `send-${value}` }
        const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', { path, header, body })
        const asked = {
          accepted_at_ms: world.clock.elapsed(),
          values: [value],
          // A gas limit of the caller may be too low after a fork: nodes refuse it for good.
          may_end_withdrawn: step.valid_s !== null || Boolean(step.gas_limit),
          is_private: step.submission === 'private',
          given_price: priceOf(step.gas_price_gwei),
          relayer_id,
          in_pool: false,
        }
        if (!history.asked.has(data.id)) history.asked.set(data.id, asked)
      })
    }
  }

  async function sendInPool(step: Step & { do: 'send_pool' }): Promise<void> {
    for (let time = 0; time < step.count; time += 1) {
      const value = nextValue()
      const body = { to: receiver, value: `${value}`, ...(step.ordered && { ordering_key: 'one' }) }
      await tolerant(async (client) => {
        const header = { 'Idempotency-Key': `pool-${value}` }
        const { data } = await client.post('/api/v1/pools/{pool_id}/transactions', {
          path: { pool_id: 'pool' },
          ...{ header, body },
        })
        const asked = {
          values: [value],
          may_end_withdrawn: false,
          is_private: false,
          given_price: 0n,
          relayer_id: data.relayer_id,
          in_pool: true,
        }
        if (!history.asked.has(data.id)) history.asked.set(data.id, { accepted_at_ms: world.clock.elapsed(), ...asked })
      })
    }
  }

  async function foreign(where: 'block' | 'pool', ahead: number): Promise<void> {
    if (!sharesKey) return
    const nonce = chain.stateOf(address).nonce + (where === 'block' ? 0 : ahead)
    const transaction = parse(await signForeign(world, nonce))
    history.foreign.set(transaction.hash, transaction)
    if (where === 'block') chain.mineOnly([transaction])
    else chain.pool.set(`${address} ${nonce}`, transaction)
  }

  async function reorganize(step: Step & { do: 'reorg' }): Promise<void> {
    // With a nonce that was used elsewhere, and then was not, beyond all confirmations nobody can be right.
    const depth = sharesKey ? Math.min(step.depth, confirmations - 1) : step.depth
    history.was_final_block_removed ||= depth >= confirmations
    const kept = Math.max(0, chain.blocks().length - 1 - depth)
    const first = chain.stateOf(address, chain.blocks()[kept]).nonce
    const rivals: SignedTransaction[] = []
    if (sharesKey && step.outcome === 'rival' && first < chain.stateOf(address).nonce)
      rivals.push(parse(await signForeign(world, first)))
    for (const rival of rivals) history.foreign.set(rival.hash, rival)
    const removed = chain.reorganize(depth, step.outcome === 'drop', rivals)
    for (const { hash, nonce } of removed) if (history.foreign.has(hash)) history.given_back.add(nonce)
  }

  return async (step) => {
    switch (step.do) {
      case 'send':
        return send(step)
      case 'send_pool':
        if (world.treasury) return sendInPool(step)
        return send({ do: 'send', count: step.count, tier: 'average', gas_price_gwei: null, valid_s: null })
      case 'drain_member':
        return chain.setBalance((world.accounts[step.which] ?? world).address, 0n)
      case 'replace': {
        const [id, asked] = pick(step.which) ?? []
        if (id === undefined || !asked) return
        const value = nextValue()
        asked.values.push(value)
        if (priceOf(step.gas_price_gwei) > asked.given_price) asked.given_price = priceOf(step.gas_price_gwei)
        const body = { to: receiver, value: `${value}`, ...given(step.gas_price_gwei) }
        const replaced = { path: { relayer_id: asked.relayer_id, transaction_id: id }, body }
        await tolerant((client) => client.put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', replaced))
        return
      }
      case 'cancel': {
        const [id, asked] = pick(step.which) ?? []
        if (id === undefined || !asked) return
        const canceled = { path: { relayer_id: asked.relayer_id, transaction_id: id } }
        const isAsked = await tolerant((client) =>
          client.delete('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', canceled),
        )
        asked.may_end_withdrawn ||= isAsked
        return
      }
      case 'cancel_all': {
        const isAsked = await tolerant((client) =>
          client.delete('/api/v1/relayers/{relayer_id}/transactions/pending', { path }),
        )
        for (const asked of history.asked.values())
          if (asked.relayer_id === relayer_id) asked.may_end_withdrawn ||= isAsked
        return
      }
      case 'pause':
      case 'resume': {
        const body = { paused: step.do === 'pause' }
        await tolerant((client) => client.patch('/api/v1/relayers/{relayer_id}', { path, body }))
        return
      }
      case 'heal':
        await tolerant((client) => {
          // The operator knows the count, where one is stated.
          const body = step.isStated ? { next_nonce: chain.stateOf(address).nonce } : {}
          return client.post('/api/v1/relayers/{relayer_id}/nonce/reconcile', { path, body })
        })
        return
      case 'drain':
        return chain.setBalance(address, 0n)
      case 'fund':
        return chain.setBalance(address, funds)
      case 'drop_pool':
        return chain.pool.clear()
      case 'honest':
        nodes.setManner(nodeCount, undefined)
        return allNodes(undefined)
      case 'relay':
        return nodes.setManner(nodeCount, step.name ?? undefined)
      case 'gas_rule':
        if (BigInt(step.gas) > history.peak_gas) history.peak_gas = BigInt(step.gas)
        return chain.changeRules(BigInt(step.gas))
      case 'foreign':
        return foreign(step.where, step.ahead)
      case 'mine':
        for (let block = 0; block < step.blocks; block += 1) {
          chain.mine(step.limit)
          await world.pass(blockMs, 2)
        }
        return
      case 'starve':
        for (let block = 0; block < step.blocks; block += 1) {
          chain.mine(0)
          await world.pass(starvedMs, 1)
        }
        return
      case 'reorg':
        return reorganize(step)
      case 'trouble':
        return allNodes(step.name)
      case 'lie':
        if (step.name.includes('price')) history.was_price_lie_told = true
        if (step.name === 'hopeless' && nodeCount === 1) history.did_only_node_refuse = true
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
    // By the rules after every fork too: bytes of others are waited for.
    gasLimit: 100_000n,
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

/** What failed because a node denied its receipt is looked up again at growing intervals, of an hour at most (`FailedUnmined`). */
const lookAgainMs = 80 * 60_000

async function finish(world: World, history: History, act: (step: Step) => Promise<void>): Promise<void> {
  const { chain, ask } = world
  await act({ do: 'honest' })
  // A base fee at which the foreign transactions in the pool can be mined too: bytes of others are never outbid.
  await act({ do: 'base_fee', gwei: 1 })
  for (const { address } of world.accounts) chain.setBalance(address, funds)
  await act({ do: 'resume' })

  let areAnyFailed = false
  const isFinished = async () => {
    const { data } = await ask((client) => client.get('/api/v1/transactions', { query: { per_page: 1_000 } }))
    areAnyFailed = data.some(({ status }) => status === 'failed')
    history.unfinished = data.filter(({ status }) => !ended.has(status))
    return history.unfinished.length === 0
  }
  const waitInVain = async (rounds: number, ms: number) => {
    for (let round = 0; round < rounds; round += 1) {
      chain.mine()
      await world.pass(ms, 4)
      // A transaction whose block was removed is reopened when the chain has another one at its height.
      if ((await isFinished()) && round >= maxDepth + confirmations) return false
    }
    return true
  }

  for (const { rounds, ms } of endings) {
    if (!(await waitInVain(rounds, ms))) {
      for (let pastMs = 0; areAnyFailed && pastMs < lookAgainMs; pastMs += lookAgainMs / 8) {
        chain.mine()
        await world.pass(lookAgainMs / 8, 4)
      }
      return
    }
    // Only a disabled relayer waits for its operator.
    const { data: relayers } = await ask((client) => client.get('/api/v1/relayers', { query: { per_page: 100 } }))
    for (const { id, address, system_disabled } of relayers) {
      if (!system_disabled) continue
      const healed = { path: { relayer_id: id }, body: { next_nonce: chain.stateOf(address).nonce } }
      await ask((client) => client.post('/api/v1/relayers/{relayer_id}/nonce/reconcile', healed)).catch((error) => {
        if (!(error instanceof RelayerError)) throw error
      })
    }
  }
}

const ended: ReadonlySet<string> = new Set(['confirmed', 'failed', 'canceled', 'expired'])
