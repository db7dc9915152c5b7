import { type Contract, compileContract, readContract } from '../../server/http/contract.ts'

let compiled: Contract | undefined

/** Compiled once for all services of a process: it takes a third of a second, and keeps nothing of what it checks. */
export function compiledContract(): Contract {
  compiled ??= compileContract(readContract())
  return compiled
}
