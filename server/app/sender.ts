import { makeId } from '../lib/ids.ts'
import { createChainRestart } from '../sender/nonces/chain-restart.ts'
import { createNonces } from '../sender/nonces/nonces.ts'
import { Sender } from '../sender/sender.ts'
import { createFunding } from '../services/funding/refill.ts'
import { createDryRun } from '../services/transactions/dry-run.ts'
import { createDryRunInPool } from '../services/transactions/dry-run-in-pool.ts'
import { createPoolOrder } from '../services/transactions/pick-relayer.ts'
import { createPreparation } from '../services/transactions/quote.ts'
import { createSubmit } from '../services/transactions/send.ts'
import type { Sending } from '../services/transactions/sending.ts'
import { createWaiting } from '../services/transactions/wait-for-status.ts'
import { startWorker } from './background.ts'
import type { Foundation } from './foundation.ts'
import type { Webhooks } from './webhooks.ts'

/** Sending while it runs. */
export interface StartedSending extends Sending {
  /** Ends requests that wait for a status. */
  stopWaiting(): void
  stop(): Promise<void>
}

const noNodes = { each: [], endpoints: '', network: { required_confirmations: 1 } }

export function startSending(foundation: Foundation, webhooks: Pick<Webhooks, 'poll'>): StartedSending {
  const { store, observer, now, elapsed, chains, keyring } = foundation
  const { networkClient, clientFor } = chains
  const waiting = createWaiting(store)
  const noteChange = () => {
    waiting.changed()
    webhooks.poll()
  }
  const nonces = createNonces({ store, networkClient, observer, makeId, now, elapsed })
  const share = store.share('sender')
  const dependencies = {
    store,
    observer,
    mayWork: share.claim,
    holds: share.holds,
    makeId,
    now,
    elapsed,
    nonces,
    findSigner: keyring.find,
    findRelayer: keyring.findRelayer,
    networkClient,
    clientFor,
    changed() {
      noteChange()
      store.tell({ kind: 'changed' })
    },
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
  const order = createPoolOrder(dependencies)
  const requests = { ...dependencies, order, preparation: createPreparation(dependencies) }
  const dryRun = createDryRun(requests)
  const restartChain = createChainRestart(dependencies)
  const wake = (relayerRowId: number) => {
    worker.wake(relayerRowId)
    store.tell({ kind: 'work', relayer_row_id: relayerRowId })
  }
  const submit = createSubmit({ ...requests, wake })
  const funding = createFunding({ ...dependencies, submit, wake })
  const refills = startWorker('funding', foundation, {
    work: funding.work,
    find: store.fundedRelayers,
    leave: funding.leave,
  })
  const pollHere = (relayerRowId: number, resend: boolean) => {
    sender.pollNow(relayerRowId, resend)
    worker.wake(relayerRowId)
  }
  const pollNow = (relayerRowId: number, resend = false) => {
    pollHere(relayerRowId, resend)
    store.tell({ kind: resend ? 'resend' : 'poll', relayer_row_id: relayerRowId })
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
    changed: dependencies.changed,
    pollNow,
    submit,
    dryRun,
    dryRunInPool: createDryRunInPool({ store, order, dryRun }),
    fund(relayerRowId) {
      funding.again(relayerRowId)
      refills.wake(relayerRowId)
    },
    waitUntil: waiting.until,
    nextChange: waiting.nextChange,
    async nonceState(relayer, latest, pending) {
      const client = await networkClient(relayer)
      return nonces.state(relayer, client ?? noNodes, latest, pending)
    },
    async nextNonce(relayer) {
      const { next_nonce } = await store.getAccount(relayer.chain_id, relayer.address)
      const client = await networkClient(relayer)
      const latest = await client?.funds(relayer.address).then(
        (funds) => funds.latest,
        () => 0,
      )
      return Math.max(next_nonce, latest ?? 0)
    },
    /** An account without unfinished transactions has no lane that follows its chain, so the request does it. */
    noteNew(relayer) {
      nonces.noteNew(relayer).catch(() => undefined)
    },
    async heal(relayer, statedNonce) {
      const client = await networkClient(relayer)
      if (client) await nonces.heal(relayer, client, statedNonce)
      pollNow(relayer.row_id, true)
      await worker.run(relayer.row_id)
    },
    async restart(relayer, auditEntry) {
      const client = await networkClient(relayer)
      if (client) await restartChain(relayer, client, auditEntry)
    },
    stopWaiting: waiting.stop,
    async stop() {
      await Promise.all([worker.stop(), refills.stop()])
    },
  }
}
