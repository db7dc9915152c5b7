import { BoundedMap } from '../core/bounded-map.ts'
import type { RightsFault } from '../core/rows.ts'

/** A fault is reported again after this many other faults, which limits the memory. */
const max_reported = 1_000

export type RightsReports = ReturnType<typeof createReports>

/** Reports each fault once. */
export function createReports() {
  const reported = new BoundedMap<string, true>(max_reported)
  let report: (fault: RightsFault) => void = () => {}
  const tell = (faults: RightsFault[]) => {
    for (const fault of faults) {
      const name = JSON.stringify(fault)
      if (reported.has(name)) continue
      reported.set(name, true)
      report(fault)
    }
  }
  return Object.assign(tell, {
    to(its: typeof report) {
      report = its
    },
  })
}
