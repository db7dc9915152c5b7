import type { CreateSignerRequest } from '../../client/index.ts'
import type { KeyFaults } from '../support/key-faults.ts'

/** What happens to a key service. `varied`: no trouble, but it never gives the same signature twice, after a usual time. */
export const troubles = ['stopped', 'throttled', 'slow', 'garbage', 'other_key', 'high_s', 'varied'] as const
export type Trouble = (typeof troubles)[number]

/** A key service in which a test has keys, and which misbehaves as it is told. */
export interface KeyStage {
  /** For the environment of the process in which the service runs. */
  environment: Record<string, string>
  /** The service reads the key once and keeps it, so that trouble shows after a restart only. */
  keeps_key: boolean
  /** A signer with a new key. */
  signer(): Promise<CreateSignerRequest>
  /** Undefined: it works again. */
  set(trouble: Trouble | undefined): Promise<void>
  stop(): Promise<void>
}

/** Servers of other makers, which `run.ts` has started. Absent: the stand-in of the tests. */
export interface KeyServers {
  ministack?: { url: string; pid: number }
  openbao?: { url: string; pid: number; token: string }
}

export const slowMs = 2_000
export const throttledPerSecond = 5
/** As a key service in the same region. */
export const usualMs = 20

const calm: Omit<KeyFaults, 'error'> = {
  delay_ms: 0,
  per_second: Number.POSITIVE_INFINITY,
  signature: 'right',
  silent: false,
}
const faultsOf: Record<Trouble, Partial<KeyFaults>> = {
  stopped: {},
  throttled: { per_second: throttledPerSecond },
  slow: { delay_ms: slowMs },
  garbage: { signature: 'garbage' },
  other_key: { signature: 'other_key' },
  high_s: { signature: 'high_s' },
  varied: { delay_ms: usualMs },
}

/** `set` of a stage over these faults; `outage` begins and ends the time in which nobody answers. */
export function troubleMaker(
  faults: KeyFaults,
  outage: { begin(): unknown; end(): unknown },
): (trouble: Trouble | undefined) => Promise<void> {
  let isOut = false
  return async (trouble) => {
    Object.assign(faults, calm, trouble && faultsOf[trouble])
    if (isOut === (trouble === 'stopped')) return
    isOut = !isOut
    await (isOut ? outage.begin() : outage.end())
  }
}

/** A process that stands still accepts connections and answers nothing. */
export const standstill = (pid: number) => ({
  begin: () => process.kill(pid, 'SIGSTOP'),
  end: () => process.kill(pid, 'SIGCONT'),
})
