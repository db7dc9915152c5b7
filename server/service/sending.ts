import type { PendingAuditEntry, RelayerRow } from '../core/rows.ts'
import { makeId } from '../ids.ts'
import { readTransactionRequest } from '../operations/transaction-request.ts'
import { createSender } from '../sending/lane/sender.ts'
import { createChainRestart } from '../sending/nonces/chain-restart.ts'
import { createNonces } from '../sending/nonces/nonces.ts'
import { checkAtStart } from '../sending/nonces/start-check.ts'
import { createDryRun } from '../sending/request/dry-run.ts'
import { createExplain } from '../sending/request/explain-transaction.ts'
import { createPreparation } from '../sending/request/preparation.ts'
import { createSubmit } from '../sending/request/submit.ts'
import { createWaiting } from '../sending/request/waiting.ts'
import { startWorker } from './background.ts'
import type { Storage } from './storage.ts'
import type { Webhooks } from './webhooks.ts'

export type Sending = ReturnType<typeof startSending>

/** Starts the sender, and returns the operations on transactions and nonces. */
export function startSending(storage: Storage, webhooks: Pick<Webhooks, 'poll'>) {
  const { store, observer, now, elapsed, chains, keyring } = storage
  const { networkClient } = chains
  const waiting = createWaiting()
  const heardOfChange = () => {
    waiting.changed()
    webhooks.poll()
  }
  const nonces = createNonces({ store, observer, makeId, now, elapsed })
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
    changed() {
      heardOfChange()
      store.tell({ kind: 'changed' })
    },
  }
  const sender = createSender(dependencies)
  const worker = startWorker(
    'sender',
    storage,
    { work: sender.work, find: store.relayersAtWork, leave: sender.leave },
    share,
  )
  const requests = { ...dependencies, preparation: createPreparation(dependencies), readTransactionRequest }
  const restartChain = createChainRestart(dependencies)
  const wake = (relayer_row_id: number) => {
    worker.wake(relayer_row_id)
    store.tell({ kind: 'work', relayer_row_id })
  }
  const hurryHere = (relayer_row_id: number, resend: boolean) => {
    sender.pollNow(relayer_row_id, resend)
    worker.wake(relayer_row_id)
  }
  const hurry = (relayer_row_id: number, resend = false) => {
    hurryHere(relayer_row_id, resend)
    store.tell({ kind: resend ? 'resend' : 'hurry', relayer_row_id })
  }
  // Another server may have the sender's lease of the relayer, or the client that waits.
  store.subscribe((signal) => {
    switch (signal?.kind) {
      case 'work':
        return worker.wake(signal.relayer_row_id)
      case 'hurry':
      case 'resend':
        return hurryHere(signal.relayer_row_id, signal.kind === 'resend')
      case 'changed':
        return heardOfChange()
      default:
        worker.poll()
        heardOfChange()
    }
  })

  let isStopping = false
  // In the background: a node that does not answer delays no start.
  checkAtStart(dependencies, nonces, () => isStopping).catch((error) => {
    if (!isStopping) storage.logger.error({ err: error }, 'check of nonces at the start failed')
  })

  return {
    changed: dependencies.changed,
    hurry,
    submit: createSubmit({ ...requests, wake }),
    dryRun: createDryRun(requests),
    explain: createExplain(dependencies),
    waitUntil: waiting.until,
    nextChange: waiting.nextChange,
    async nonceState(relayer: RelayerRow, latest: number | undefined, pending: number | undefined) {
      const client = await networkClient(relayer)
      return nonces.state(relayer, client ?? { each: [], network: { required_confirmations: 1 } }, latest, pending)
    },
    /** The nonce counter, or the chain's count where it is ahead: then the counter follows it before a nonce is assigned. */
    async nextNonce(relayer: RelayerRow): Promise<number> {
      const { next_nonce } = await store.getAccount(relayer.chain_id, relayer.address)
      const client = await networkClient(relayer)
      const latest = await client?.funds(relayer.address).then(
        (funds) => funds.latest,
        () => 0,
      )
      return Math.max(next_nonce, latest ?? 0)
    },
    /** An account without unfinished transactions has no lane that follows its chain, so the request does it. */
    async heal(relayer: RelayerRow, stated_nonce: number | undefined) {
      const client = await networkClient(relayer)
      if (client) await nonces.heal(relayer, client, stated_nonce)
      hurry(relayer.row_id, true)
      await worker.run(relayer.row_id)
    },
    async restart(relayer: RelayerRow, auditEntry: PendingAuditEntry) {
      const client = await networkClient(relayer)
      if (client) await restartChain(relayer, client, auditEntry)
    },
    /** Ends requests that wait for a status. */
    stopWaiting: waiting.stop,
    async stop() {
      isStopping = true
      await worker.stop()
    },
  }
}
