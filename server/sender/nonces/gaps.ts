import { proveCount, type Witnesses } from '../../chain/proofs.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { BoundedMap } from '../../lib/bounded-map.ts'
import type { SenderContext } from '../context.ts'
import type { Counts } from './counts.ts'

const maxGaps = 100
const maxHolders = 2_000
const maxRemembered = 10_000
const maxBehindMs = 24 * 3_600_000
const defaultFillsPerHour = 10

type Abandoned = Awaited<ReturnType<SenderContext['store']['abandoned']>>[number]

export interface Gaps {
  /** The gaps: nonces from the chain's count to the nonce counter that no transaction holds; at most 100. */
  of(account: Pick<RelayerRow, 'chain_id' | 'address'>, latest: number): Promise<number[]>
  /**
   * Closes gaps when a majority of the endpoints confirms the account's count and has the highest block that was seen. Unsigned transactions move to lower nonces and the
   * counter is lowered. A gap below a signed nonce is filled by a zero-value transfer to the account itself, within the policy
   * `max_gap_fills_per_hour`. `isRequested`: an operator asks for it, also on a chain that was set back. Resolves to the number of gaps that stay open.
   */
  close(relayer: RelayerRow, witnesses: Witnesses, latest: number, isRequested?: boolean): Promise<number>
  /** Records the height of a chain by a majority of its endpoints: gaps are not closed while they are behind it. */
  noteHead(chainId: number, head: number): void
  /** Counts one more nonce that is filled. False: the policy `max_gap_fills_per_hour` allows no more. */
  takeFill(relayer: RelayerRow): Promise<boolean>
}

interface GapsDependencies extends Pick<SenderContext, 'store' | 'makeId' | 'elapsed' | 'observer'> {
  usedBelow: Counts['usedBelow']
}

export function createGaps({ store, makeId, elapsed, observer, usedBelow }: GapsDependencies): Gaps {
  /** By relayer: the last log line. */
  const logged = new BoundedMap<number, string>(maxRemembered)
  /** By chain: the highest block that a majority of the endpoints had, and when. */
  const heads = new BoundedMap<number, { head: number; at: number }>(maxRemembered)

  async function of({ chain_id, address }: Pick<RelayerRow, 'chain_id' | 'address'>, latest: number) {
    const { next_nonce } = await store.getAccount(chain_id, address)
    // A gap beyond this range is found when the transactions before it are mined.
    const to = Math.min(next_nonce, latest + maxHolders)
    const held = new Set((await store.holders(chain_id, address, latest, to, maxHolders)).map(({ nonce }) => nonce))
    // A nonce that was returned meanwhile is not a gap: the next transaction gets it.
    const end = Math.min(to, (await store.getAccount(chain_id, address)).next_nonce)
    const gaps: number[] = []
    for (let nonce = latest; nonce < end && gaps.length < maxGaps; nonce += 1) if (!held.has(nonce)) gaps.push(nonce)
    return gaps
  }

  async function close(
    relayer: RelayerRow,
    witnesses: Witnesses,
    latest: number,
    isRequested = false,
  ): Promise<number> {
    const { chain_id, address } = relayer
    const open = (await of(relayer, latest)).length + (await store.abandoned(chain_id, address, latest)).length
    if (open === 0) return 0
    const counted = await proveCount(witnesses, address)
    if (!counted || (!isRequested && isBehind(chain_id, counted.fact.head))) return open
    const from = Math.max(counted.fact.at_most, await usedBelow(relayer, witnesses))
    const { next_nonce: before } = await store.getAccount(chain_id, address)
    const { moved, gaps } = await store.compactNonces(chain_id, address, from)
    const { next_nonce } = await store.getAccount(chain_id, address)
    if (next_nonce < before || moved > 0) {
      observer.nonceNoticed?.('nonce counter lowered', { relayer_id: relayer.id, from: before, to: next_nonce, moved })
    }
    const abandoned = await store.abandoned(chain_id, address, from)
    return gaps.length + abandoned.length - (await withdraw(relayer, abandoned)) - (await fill(relayer, gaps))
  }

  /**
   * Reopens transactions that failed because nodes reported their nonces as used, when the nonces are free after all: a zero-value
   * transfer uses each nonce. Resolves to the number of reopened transactions.
   */
  async function withdraw(relayer: RelayerRow, abandoned: Abandoned[]): Promise<number> {
    const chosen = abandoned.slice(0, await takeFills(relayer, abandoned.length))
    if (chosen.length === 0) return 0
    observer.nonceNoticed?.('abandoned nonces filled', { relayer_id: relayer.id, count: chosen.length })
    await store.move(
      chosen.map(({ row_id, revision, reason }) => ({
        row_id,
        revision,
        set: { status: 'submitted', intent: 'fail', resign: true, status_reason: reason, reprice_at: 0 },
      })),
    )
    return chosen.length
  }

  /** Counts nonces that are about to be filled. Resolves to how many the policy allows now. */
  const takeFills = async (relayer: RelayerRow, wanted: number): Promise<number> =>
    wanted === 0 ? 0 : store.takeGapFills(relayer, wanted, allowedFor(relayer))

  /** Resolves to the number of filled gaps. */
  async function fill(relayer: RelayerRow, gaps: number[]): Promise<number> {
    if (gaps.length === 0) return 0
    const nonces = gaps.slice(0, await takeFills(relayer, gaps.length))
    const event = nonces.length === 0 ? 'nonce gaps left: the limit per hour is reached' : 'nonce gaps filled'
    const line = `${event} ${gaps}`
    if (logged.get(relayer.row_id) !== line) {
      observer.nonceNoticed?.(event, {
        relayer_id: relayer.id,
        gaps,
        nonces,
        max_gap_fills_per_hour: allowedFor(relayer),
      })
    }
    for (const nonce of nonces) await store.createTransaction(fillerOf(relayer, makeId(), nonce))
    logged.set(relayer.row_id, line)
    return nonces.length
  }

  function noteHead(chainId: number, head: number): void {
    const known = heads.get(chainId)
    if (known && known.head > head && elapsed() - known.at < maxBehindMs) return
    heads.set(chainId, { head, at: elapsed() })
  }

  /** Nodes that lag count too few transactions. A chain that stays lower was set back. */
  function isBehind(chainId: number, head: number): boolean {
    noteHead(chainId, head)
    return head < (heads.get(chainId)?.head ?? 0)
  }

  return { of, close, noteHead, takeFill: async (relayer) => (await takeFills(relayer, 1)) === 1 }
}

const allowedFor = ({ policies }: RelayerRow): number => policies.max_gap_fills_per_hour ?? defaultFillsPerHour

const fillerOf = ({ row_id, id, chain_id, address, policies }: RelayerRow, madeId: string, nonce: number) => ({
  id: madeId,
  relayer_row_id: row_id,
  relayer_id: id,
  chain_id,
  from: address,
  to: address,
  value: '0',
  data: null,
  gas_limit: null,
  gas_price: null,
  max_fee_per_gas: null,
  max_priority_fee_per_gas: null,
  speed: null,
  valid_until: null,
  intent: 'cancel' as const,
  type: policies.eip1559_pricing === false ? (0 as const) : (2 as const),
  status_reason: 'Fills a nonce gap',
  nonce,
})
