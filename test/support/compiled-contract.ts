import pino from 'pino'
import { type Contract, mountContract, readContract } from '../../server/http/contract.ts'

let mounted: Promise<Contract> | undefined

/** Mounted once for all services of a process; its checks are compiled when a first request needs them. */
export function compiledContract(): Promise<Contract> {
  mounted ??= mountContract(readContract(), pino({ level: 'silent' }))
  return mounted
}
