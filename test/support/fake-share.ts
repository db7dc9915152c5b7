import type { WorkShare } from '../../server/store/worker.ts'

/** A part of the work that has all rows or none. */
export const fakeShare = (claim: () => Promise<boolean> = async () => true, lease = () => 1): WorkShare => ({
  divide: async (rowIds) => ({ own: (await claim()) ? rowIds : [], surplus: [] }),
  claim,
  holds: () => true,
  lease,
  held: () => [],
  under: (_, work) => work(),
  giveBack: async () => undefined,
  leave: () => undefined,
  release: async () => undefined,
  watch: () => undefined,
})
