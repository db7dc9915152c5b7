import { onTestFinished } from 'vitest'
import { type Rig, type RigOptions, startRig } from './rig.ts'

/** A rig of the test's own; it ends with the test. */
export async function testRig(options: RigOptions = {}): Promise<Rig> {
  const rig = await startRig(options)
  onTestFinished(rig.stop)
  return rig
}
