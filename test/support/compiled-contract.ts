import pino from 'pino'
import { type Contract, mountContract, readContract } from '../../server/api/http/contract.ts'

let mounted: Promise<Contract> | undefined

/** Shared by all services of a process. Each validator is compiled at the first request that needs it. */
export function compiledContract(): Promise<Contract> {
  mounted ??= mountContract(readContract(), pino({ level: 'silent' }))
  return mounted
}
