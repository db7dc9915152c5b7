import { setTimeout as pause } from 'node:timers/promises'
import type { RelayerError } from '../../client/index.ts'
import type { Account, Rig } from '../support/rig.ts'

/** Long enough for the service to look at the chain and act. */
const turn_ms = 250
const patience_ms = 30_000

/** Lets time pass in steps; `between`: done in each, a block by default. */
export async function letPass(rig: Rig, ms: number, steps: number, between = rig.chain.mine): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    rig.clock.passed_ms += ms / steps
    await between()
    await pause(turn_ms)
  }
}

/** Blocks in real time, for as many looks of the service. */
export const blocks = (rig: Rig, count: number, between = rig.chain.mine) => letPass(rig, 0, count, between)

/** The faults are over: what is unfinished ends, at the latest when an operator heals a relayer that was disabled. */
export async function recover(rig: Rig, account: Account, between = rig.chain.mine): Promise<void> {
  for (const proxy of rig.proxies) {
    proxy.setLiar(undefined)
    proxy.setBodyLimit(undefined)
    await proxy.setFault(undefined)
  }
  if (await account.finishedWithin(patience_ms, between)) return
  const path = { relayer_id: account.relayer_id }
  await rig
    .client()
    .post('/api/v1/relayers/{relayer_id}/nonce/heal', { path })
    .catch((error: RelayerError) => {
      if (error.status !== 409) throw error
    })
  await account.finishedWithin(patience_ms, between)
}
