import fc from 'fast-check'
import { type Result, runScenario } from './run-scenario.ts'
import { type Allowed, type Scenario, scenario } from './steps.ts'

export interface ModelOptions {
  runs: number
  seed: number
  allowed: Allowed
  /** Stop at the first violation and look for a shorter scenario. Default: run all. */
  shrink?: boolean
  /** No new scenario is begun after as long. */
  time_limit_ms?: number
  told?(scenario: Scenario, result: Result): void
}

export interface ModelResult {
  runs: number
  accepted: number
  pooled: number
  refills: number
  crashes: number
  /** Scenarios with a violation, and the violated rules. */
  failures: { scenario: Scenario; violations: string[] }[]
}

/** Draws scenarios from the seed and runs them one after the other. */
export async function runModel({ runs, seed, allowed, time_limit_ms, told }: ModelOptions): Promise<ModelResult> {
  const result: ModelResult = { runs: 0, accepted: 0, pooled: 0, refills: 0, crashes: 0, failures: [] }
  const start = performance.now()
  for (const drawn of fc.sample(scenario(allowed), { numRuns: runs, seed })) {
    if (time_limit_ms !== undefined && performance.now() - start > time_limit_ms) break
    const one = await runOrThrow(drawn)
    result.runs += 1
    result.accepted += one.accepted
    result.pooled += one.pooled
    result.refills += one.refills
    result.crashes += one.crashes
    if (one.violations.length > 0) result.failures.push({ scenario: drawn, violations: one.violations })
    told?.(drawn, one)
  }
  return result
}

/** An unexpected error of the harness or the service is a violation like any other. */
async function runOrThrow(drawn: Scenario): Promise<Result> {
  try {
    return await runScenario(drawn)
  } catch (error) {
    return { violations: [`error: ${(error as Error).stack}`], accepted: 0, pooled: 0, refills: 0, crashes: 0 }
  }
}

/** Removes steps as long as the same kind of violation remains. */
export async function shorten(drawn: Scenario, kind: string): Promise<Scenario> {
  let best = drawn
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.steps.length; ) {
      const fewer = { ...best, steps: best.steps.toSpliced(at, size) }
      const { violations } = await runOrThrow(fewer)
      if (violations.some((violation) => kindOf(violation) === kind)) best = fewer
      else at += size
    }
  }
  return best
}

/** `signed twice: ...` is of the kind `signed twice`. */
export const kindOf = (violation: string): string => violation.split(/[:,(]/)[0]?.trim() ?? violation
