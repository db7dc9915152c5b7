import type { TransactionStatus } from '../../../generated/openapi.ts'
import { isFinal } from '../../../server/domain/statuses.ts'
import type {
  Spend,
  TransactionFilter,
  TransactionRow,
  TransactionUpdate,
} from '../../../server/domain/transaction-rows.ts'
import { endAs, firstBlock, foreignUse } from '../../support/ending.ts'
import { randomFrom } from '../../support/random.ts'
import { newTransaction, type PlantedRelayer } from './relayers.ts'
import type { OpenedStore } from './stores.ts'

/** A call of the store, on three relayers. */
export type Call = (opened: OpenedStore, relayers: PlantedRelayer[]) => Promise<unknown>

/** The calls of one history. */
export const steps = 150
const start = Date.parse('2026-01-01T00:00:00.000Z')

const statuses: TransactionStatus[] = ['pending', 'sent', 'submitted', 'mined', 'confirmed', 'failed']
const waits = ['funds', 'paused', null] as const

/** Makes random calls of all verbs of transactions and accounts; a call does the same on every store. */
export function history(seed: number): () => Call {
  const random = randomFrom(seed)
  const below = (end: number) => Math.floor(random() * end)
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T
  const amount = () => String(below(50))
  const data = () => pick([null, null, '0x', `0x${'ab'.repeat(below(40) + 1)}`, `0x${'cd'.repeat(1_500)}`])
  const spending = (): Spend[] =>
    pick([
      [],
      [{ policy: 'max_value_per_day', asset: 'wei', amount: amount(), limit: '150' }],
      [
        { policy: 'max_value_per_day', asset: 'wei', amount: amount(), limit: '200' },
        { policy: 'max_fee_per_day', asset: 'fee', amount: amount(), limit: '700' },
      ],
    ])
  let ids = 0
  const newId = () => {
    ids += 1
    return `t${seed}-${ids}`
  }
  const entry = (operation: string) => ({
    ...{ at: 1, caller: 'c', operation, relayer_id: null, subject: null, http_status: 200, request_id: null },
    recorded: false,
  })
  const known: string[] = []
  const rowOf = async ({ store }: OpenedStore, relayers: PlantedRelayer[], id: string) => {
    for (const { row_id } of relayers) {
      const row = await store.getTransaction(row_id, id)
      if (row) return row
    }
    return undefined
  }
  const create = (): Call => {
    const [relayer, id, funds] = [below(3), newId(), pick([undefined, undefined, '900000'])]
    known.push(id)
    const changes = {
      value: amount(),
      data: data(),
      reference: pick([null, 'a', 'b']),
      spending: spending(),
      ...(funds && { funds }),
      ...pick([{}, { idempotency: { caller: 'c', key: `k${below(8)}`, body_hash: pick(['x', 'y']) } }]),
      ...pick([{}, {}, {}, { nonce: below(12) }, { expected_nonce: below(12) }]),
      capacity: { max_pending: 8, max_pending_bytes: 20_000 },
    }
    return ({ store }, relayers) =>
      store.createTransaction(newTransaction(relayers[relayer] as PlantedRelayer, id, changes), entry(`create ${id}`))
  }
  const createBatch = (): Call => {
    const [relayer, batch, key] = [below(3), [newId(), newId(), newId()], below(10)]
    known.push(...batch)
    const spends = spending()
    return ({ store }, relayers) =>
      store.createTransactions(
        entry('createBatch'),
        batch.map((id) => newTransaction(relayers[relayer] as PlantedRelayer, id, { spending: spends })),
        { caller: 'c', key: `b${key}`, body_hash: 'x' },
      )
  }
  const move = (): Call => {
    const id = pick(known)
    const [status, waitReason, isStale] = [pick(statuses), pick(waits), below(8) === 0]
    const isMined = status === 'mined' || status === 'confirmed'
    const isSet = below(3) > 0
    const end = isSet && isFinal(status) ? { end: endAs(status) } : {}
    const set: TransactionUpdate['set'] = {
      ...(isSet && !isFinal(status) && { status }),
      ...(isMined && { block_number: below(100), block_hash: `0x${below(9)}` }),
      ...pick([
        {},
        { receipt: { fee: pick(['1', '123456789', '1234567890123', '9'.repeat(40)]) } as TransactionRow['receipt'] },
      ]),
      ...pick([
        {},
        { wait_reason: waitReason, wait_text: waitReason && `because of ${waitReason}` },
        { status_reason: 'x' },
      ]),
      ...pick([{}, {}, { data: data() }]),
      ...pick([{}, {}, { gas_price: amount(), value: amount() }]),
      ...pick([{}, {}, { reference: 'moved', to: `0x${'11'.repeat(20)}` }]),
      ...pick([{}, { speed: 'fast' as TransactionRow['speed'] }]),
    }
    const [spends, signs, takes] = [spending(), below(2) === 0, below(2) === 0]
    return async (opened, relayers) => {
      const row = await rowOf(opened, relayers, id)
      if (!row) return 'unknown'
      const attempts = await opened.store.attempts(row.row_id)
      const number = attempts.length + 1
      const attempt = {
        ...{
          number,
          purpose: 'send' as const,
          content_hash: '',
          sig: '',
          nonce: row.nonce as number,
          hash: `0x${id}-${number}`,
          raw: new Uint8Array([number]),
        },
        ...{ gas_limit: 21_000, gas_price: '1', max_fee_per_gas: null, max_priority_fee_per_gas: null },
      }
      const [moved] = await opened.store.move([
        {
          row_id: row.row_id,
          revision: row.revision + (isStale ? 1 : 0),
          set: { ...set, ...(signs && { hash: attempt.hash }) },
          ...end,
          ...(signs && { attempt }),
          ...(spends.length > 0 && { spending: spends }),
          ...(takes && attempts.length > 0 && { taken: [1] }),
          ...(!takes &&
            attempts.length > 0 && { refused: { number: 1, refusal_message: 'underpriced', kind: 'underpriced' } }),
        },
      ])
      return moved
    }
  }
  const withdraw = (): Call => {
    const [id, intent] = [pick(known), pick(['cancel', 'expire', 'fail'] as const)]
    return async (opened, relayers) => {
      const row = await rowOf(opened, relayers, id)
      if (!row) return 'unknown'
      return opened.store.withdraw(
        { relayer_row_id: row.relayer_row_id, id },
        { intent, status_reason: 'because' },
        entry(`withdraw ${id}`),
      )
    }
  }
  const replace = (): Call => {
    const [id, spends, set] = [pick(known), spending(), { data: data(), value: amount(), resign: true }]
    return async (opened, relayers) => {
      const row = await rowOf(opened, relayers, id)
      if (!row) return 'unknown'
      const capacity = { max_pending: 10, max_pending_bytes: 9_000 }
      return opened.store.replaceTransaction(
        { row_id: row.row_id, revision: row.revision, set },
        { spending: spends, capacity },
      )
    }
  }
  const renumber = (): Call => {
    const [id, spends] = [pick(known), spending()]
    return async (opened, relayers) => {
      const row = await rowOf(opened, relayers, id)
      return (
        row &&
        opened.store.renumber(
          { row_id: row.row_id, revision: row.revision, reason: 'used outside', spending: spends },
          foreignUse,
        )
      )
    }
  }
  const withdrawBatch = (): Call => {
    const [relayer, belowNonce, limit] = [below(3), below(20), below(4) + 1]
    return ({ store }, relayers) => {
      const { row_id } = relayers[relayer] as PlantedRelayer
      const batch = { relayer_row_id: row_id, below_nonce: belowNonce, limit, intent: 'cancel' as const, reason: 'all' }
      return store.withdrawBatch(entry('withdrawAll'), batch)
    }
  }
  const account = (): Call => {
    const [relayer, latest, nonce, isProven] = [below(3), below(6), below(14), below(4) === 0]
    const verb = below(14)
    const kind = pick(['transactions', 'idempotency', 'deliveries', 'events'] as const)
    return async ({ store }, relayers) => {
      const { row_id, chain_id, address } = relayers[relayer] as PlantedRelayer
      const its = { chain_id, address }
      if (verb === 0) return store.compactNonces(chain_id, address, latest)
      if (verb === 1) return store.raiseNonce({ chain_id, address }, nonce, isProven)
      if (verb === 2)
        return store.spend({
          account: its,
          spending: [{ policy: 'max_fee_per_day', asset: 'fee', amount: '5', limit: '300' }],
        })
      if (verb === 3) return store.watch(row_id)
      if (verb === 4) return store.unwatch(row_id)
      if (verb === 5) return store.setGenesis(chain_id, address, `0x${nonce}`)
      if (verb === 6 && nonce === 0) return store.forgetNonces(its, { reason: 'restarted', proof: firstBlock }, 5)
      if (verb === 7) return store.restartAccount(its, { genesis_hash: '0xnew', next_nonce: 0 })
      const before = new Date(start + nonce * 5_000).toISOString()
      if (verb === 8 && nonce < 3) return store.prune(kind, before, 0)
      if (verb === 9) return store.believeTime(start + nonce)
      return [
        await store.getAccount(chain_id, address),
        await store.accountAt(its, nonce),
        await store.abandoned(chain_id, address, latest),
        await store.hasMinedFrom(chain_id, address, nonce),
        await store.holders({ chain_id, address }, { from: 0, to: nonce }, 5),
        await store.getTransactionByNonce(chain_id, address, nonce),
        await store.wouldExceed(its, [{ policy: 'max_value_per_day', asset: 'wei', amount: '300', limit: '400' }]),
      ]
    }
  }
  const looks = (): Call => {
    const [relayer, id, block] = [below(3), pick(known), below(100)]
    const filter: TransactionFilter = {
      status: pick([[], [], [pick(statuses)], [pick(statuses), 'canceled']]),
      ...pick([{}, { created_after: new Date(start + below(steps) * 1_000).toISOString() }]),
      ...pick([{}, {}, { reference: pick(['a', 'moved']) }, { to: `0x${'11'.repeat(20)}` }]),
      ...pick([{}, {}, {}, { nonce_from: below(5), nonce_to: below(20) }, { hash: `0x${id}-1` }]),
    }
    const slice = { offset: below(10), limit: below(15) }
    const ids = pick([undefined, new Set(['r1'])])
    const auditFilter = pick([{}, { operation: 'createBatch' }, { subject: id }, { after: 0, before: 5 }])
    return async ({ store }, relayers) => {
      const { row_id } = relayers[relayer] as PlantedRelayer
      const one = await store.getTransaction(row_id, id)
      return [
        await store.listTransactions(row_id, slice, { ...filter }),
        await store.listTransactionsOf(undefined, slice, { ...filter, reference: 'a' }),
        await store.listTransactionsOf(new Set(['r1', 'r3']), slice, { status: [] }),
        await store.firstInLine(row_id),
        await store.pending(row_id, { from: 0, below: 1_000 }, 10),
        await store.inFlight(row_id, 10),
        await store.mined(row_id, block, 10),
        await store.countUnfinished(row_id),
        await store.exceededCapacity(row_id, 100, { max_pending: 5, max_pending_bytes: 500 }),
        await store.lastConfirmedAt(row_id),
        await store.endedSince(row_id, block),
        await store.failedUnmined(row_id, 10),
        (await store.newestEnded(row_id))?.number,
        (await store.relayersAtWork()).length,
        [...(await store.transactionStates([id, 'none']))],
        await store.getTransactionByHash(row_id, `0x${id}-1`),
        await store.isSecretHash(`0x${id}-1`),
        one && (await store.attempts(one.row_id)),
        one && (await store.listAttempts(one.row_id, { offset: 1, limit: 2 })),
        one && (await store.rawOf(one.row_id, 1)),
        one && (await store.dataOf(one.row_id)),
        await store.activity({
          period_s: 60,
          from: start / 1_000,
          now: start / 1_000 + steps,
          ids,
          network: undefined,
        }),
        await store.readGauges(start + steps * 1_000),
        await store.listAudit(slice, auditFilter),
        await store.believedTime(),
        await store.replay(row_id, { caller: 'c', key: 'k1', body_hash: 'x' }),
        await store.replayBatch(row_id, { caller: 'c', key: 'b1', body_hash: 'x' }),
      ]
    }
  }
  const kinds = [
    create,
    create,
    create,
    createBatch,
    move,
    move,
    move,
    move,
    withdraw,
    withdrawBatch,
    replace,
    renumber,
    account,
    account,
    looks,
  ]
  return () => (known.length === 0 ? create() : pick(kinds)())
}
