import type { Chains } from '../chain/chains.ts'
import { makeId } from '../lib/ids.ts'
import { Nonces } from '../sender/nonces/nonces.ts'
import { Sender } from '../sender/sender.ts'
import type { ServicesContext } from '../services/context.ts'
import { Refills } from '../services/funding/refill.ts'
import { Settlements } from '../services/settlement.ts'
import { PoolLoads } from '../services/transactions/pick-relayer.ts'
import { AccountFunds } from '../services/transactions/quote.ts'
import type { TransactionsContext } from '../services/transactions/send.ts'
import { StatusWaits } from '../services/transactions/wait-for-status.ts'
import { Budgets } from '../store/budgets.ts'
import { startWorker } from './background.ts'
import type { Foundation } from './foundation.ts'
import type { Webhooks } from './webhooks.ts'

/** Sending while it runs, with the effects that the services have on it. */
export interface StartedSending
  extends TransactionsContext,
    Pick<ServicesContext, 'waits' | 'changed' | 'pollNow' | 'runSender' | 'fund'> {
  stop(): Promise<void>
}

export function startSending(foundation: Foundation, webhooks: Pick<Webhooks, 'poll'>): StartedSending {
  const { store, observer, now, elapsed, chains, keyring } = foundation
  const networkClient: Chains['networkClient'] = (relayer) => chains.networkClient(relayer)
  const waits = new StatusWaits(store)
  const noteChange = () => {
    waits.changed()
    webhooks.poll()
  }
  const changed = () => {
    noteChange()
    store.tell({ kind: 'changed' })
  }
  const budgets = new Budgets(store)
  const nonces = new Nonces({ store, budgets, networkClient, observer, makeId, now, elapsed })
  const share = store.share('sender')
  const dependencies = {
    store,
    budgets,
    observer,
    mayWork: (rowId: number) => share.claim(rowId),
    holds: (rowId: number) => share.holds(rowId),
    makeId,
    now,
    elapsed,
    nonces,
    findSigner: (relayerId: string) => keyring.find(relayerId),
    findRelayer: (relayerId: string) => keyring.findRelayer(relayerId),
    networkClient,
    changed,
  }
  const sender = new Sender(dependencies)
  const worker = startWorker(
    'sender',
    foundation,
    {
      work: (relayerRowId) => sender.work(relayerRowId),
      find: store.relayersAtWork,
      leave: async (relayerRowId) => sender.leave(relayerRowId),
    },
    share,
  )
  const context: TransactionsContext = {
    ...{ store, budgets, keyring, chains, nonces, makeId, now },
    funds: new AccountFunds(store),
    loads: new PoolLoads(store),
    wake(relayerRowId) {
      worker.wake(relayerRowId)
      store.tell({ kind: 'work', relayer_row_id: relayerRowId })
      changed()
    },
  }
  const refills = new Refills({ ...context, networkClient, elapsed })
  const refillWorker = startWorker('funding', foundation, {
    work: (rowId) => refills.work(rowId),
    find: store.fundedRelayers,
    leave: (rowId) => refills.leave(rowId),
  })
  const pollNow = (relayerRowId: number, resend = false) => {
    pollHere(relayerRowId, resend)
    store.tell({ kind: resend ? 'resend' : 'poll', relayer_row_id: relayerRowId })
  }
  const settlements = new Settlements({ store, networkClient, now, elapsed, pollNow })
  const settlementWorker = startWorker('settlement', foundation, {
    work: (rowId) => settlements.work(rowId),
    find: store.facilitatorsAtWork,
    leave: (rowId) => settlements.leave(rowId),
  })
  const pollHere = (relayerRowId: number, resend: boolean) => {
    sender.pollNow(relayerRowId, resend)
    worker.wake(relayerRowId)
  }
  // Another server may have the sender's lease of the relayer, or the client that waits.
  store.subscribe((signal) => {
    switch (signal?.kind) {
      case 'work':
        return worker.wake(signal.relayer_row_id)
      case 'poll':
      case 'resend':
        return pollHere(signal.relayer_row_id, signal.kind === 'resend')
      case 'changed':
        return noteChange()
      default:
        worker.poll()
        noteChange()
    }
  })

  return {
    ...context,
    waits,
    changed,
    pollNow,
    runSender: (relayerRowId) => worker.run(relayerRowId),
    fund(relayerRowId) {
      refills.again(relayerRowId)
      refillWorker.wake(relayerRowId)
    },
    async stop() {
      await Promise.all([worker.stop(), refillWorker.stop(), settlementWorker.stop()])
    },
  }
}
