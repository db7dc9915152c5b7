import type { ChildProcess } from 'node:child_process'
import type { RelayerClient } from '../../client/index.ts'
import type { FaultProxy } from '../support/fault-proxy.ts'

/** A service with a funded relayer `demo` behind a fault proxy, and a relayer `attacked` to which the attacker's keys are limited. */
export interface Scene {
  child: ChildProcess
  url: string
  folder: string
  client: RelayerClient
  proxy: FaultProxy
}

/** The result of one attack. */
export interface Reached {
  found: string
  holds: boolean
}
