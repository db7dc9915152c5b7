import { setTimeout as pause } from 'node:timers/promises'
import type { RelayerError } from '../../client/index.ts'
import type { Account, Rig } from '../support/rig.ts'

/** Long enough for one check of the chain by the service. */
const turnMs = 250
const patienceMs = 30_000

/** Advances the clock in steps. `between` is called in each; by default, it mines a block. */
export async function letPass(rig: Rig, ms: number, steps: number, between = rig.chain.mine): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    rig.clock.passed_ms += ms / steps
    await between()
    await pause(turnMs)
  }
}

/** Mines blocks in real time, with a check of the chain by the service after each. */
export const blocks = (rig: Rig, count: number, between = rig.chain.mine) => letPass(rig, 0, count, between)

/** Ends all faults and waits until all transactions have ended. Heals a relayer that was disabled. */
export async function recover(rig: Rig, account: Account, between = rig.chain.mine): Promise<void> {
  for (const proxy of rig.proxies) {
    proxy.setLiar(undefined)
    proxy.setBodyLimit(undefined)
    await proxy.setFault(undefined)
  }
  if (await account.finishedWithin(patienceMs, between)) return
  const path = { relayer_id: account.relayer_id }
  await rig
    .client()
    .post('/api/v1/relayers/{relayer_id}/nonce/reconcile', { path })
    .catch((error: RelayerError) => {
      if (error.status !== 409) throw error
    })
  await account.finishedWithin(patienceMs, between)
}
