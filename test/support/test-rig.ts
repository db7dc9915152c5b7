import { onTestFinished, vi } from 'vitest'
import { type Rig, type RigOptions, startRig } from './rig.ts'

// What is waited for has a deadline of its own, which says what did not come.
vi.setConfig({ testTimeout: 300_000 })

/** A rig of the test's own; it ends with the test. */
export async function testRig(options: RigOptions = {}): Promise<Rig> {
  const rig = await startRig(options)
  onTestFinished(rig.stop)
  return rig
}
