import type { NetworkNode } from '../../generated/openapi.ts'
import { withTimeout } from '../lib/timers.ts'
import type { Chain } from './chain.ts'
import type { Endpoint } from './endpoint.ts'

/** A node and its health; its URL, which may contain a secret, is not included. */
export type NodeHealth = Omit<NetworkNode, 'url'>

/** The longest wait for a node. */
const patienceMs = 5_000
const maxErrorLength = 1_000
/** Later years have another form in RFC 3339. */
const maxYear = 9_999

/** Asks one endpoint, alone, for its newest block. `now`: monotonic milliseconds. */
export async function examine(endpoint: Endpoint, chain: Pick<Chain, 'head'>, now: () => number): Promise<NodeHealth> {
  const { weight } = endpoint
  const started = now()
  try {
    const { number, at_ms, base_fee } = await withTimeout(patienceMs, late, () => chain.head())
    if (!Number.isSafeInteger(number)) throw new Error('Its newest block has no number')
    const responseMs = Math.round(Math.max(0, now() - started))
    return {
      weight,
      status: 'healthy',
      block_number: number,
      block_at: timeOf(at_ms),
      base_fee: base_fee?.toString() ?? null,
      response_ms: responseMs,
      error: null,
    }
  } catch (error) {
    const { message, reason = message } = error as { message: string; reason?: string }
    return {
      weight,
      status: statusOf(endpoint),
      block_number: null,
      block_at: null,
      base_fee: null,
      response_ms: null,
      error: (reason || 'It does not answer').slice(0, maxErrorLength),
    }
  }
}

/** Null too for a time that no date has: a node may answer anything. */
function timeOf(atMs: number | undefined): string | null {
  const at = new Date(atMs ?? Number.NaN)
  return Number.isNaN(at.getTime()) || at.getUTCFullYear() > maxYear ? null : at.toISOString()
}

function statusOf({ wrong_chain, throttled }: Endpoint): NodeHealth['status'] {
  if (wrong_chain !== undefined) return 'wrong_chain'
  return throttled ? 'rate_limited' : 'unreachable'
}

const late = () => new Error(`It did not answer within ${patienceMs / 1_000} s`)
