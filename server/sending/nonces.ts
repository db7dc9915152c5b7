import type { RelayerRow, TransactionRow } from '../store/rows.ts'
import type { Reach, SendingParts } from './parts.ts'

const max_gaps = 100
const max_holders = 2_000
const max_compared = 10_000
const restarted = 'The chain began anew'

export interface NonceState {
  next_nonce: number
  chain_latest: number | null
  gaps: number[]
  status: 'in_step' | 'chain_ahead' | 'gap' | 'chain_restarted' | 'unreachable'
  explanation: string
}

type Chain = Pick<Reach['chain'], 'blockHash' | 'findByNonce' | 'receipts' | 'send'>

/** Keeps what the store thinks of an account's nonces, and what the chain says, together in both directions. */
export interface Nonces {
  /**
   * Follows the chain where it is ahead. False when it is another chain than the one that the nonces were used on: then the
   * relayer is disabled, with the reason, and nothing may be sent.
   */
  follow(relayer: RelayerRow, chain: Chain, latest: number): Promise<boolean>
  /**
   * As `follow`, before a nonce is taken: looks closer only the first time, where the account's count has gone back, and while
   * the relayer is disabled.
   */
  compare(relayer: RelayerRow, chain: Chain, latest: number): Promise<boolean>
  disableWrongChain(relayer: RelayerRow, chain_id: bigint): Promise<void>
  /**
   * What the chain waits for and nobody sends: a nonce that no transaction holds gets a transfer of nothing; that of one that
   * is mined, or ended beyond all confirmations, and whose block is gone has its bytes sent again.
   */
  mend(relayer: RelayerRow, chain: Chain, latest: number): Promise<void>
  /**
   * Finds out what used the nonce of a transaction that has no receipt. The very same content: a copy of this service sent it,
   * and it is not sent twice. Another content: the key is used elsewhere; the transaction gets a new nonce if this process has
   * known it from the start, and else ends as failed. False when nothing is certain yet.
   */
  trace(
    relayer: RelayerRow,
    reach: Pick<Reach, 'chain' | 'network'>,
    row: TransactionRow,
    head: number,
  ): Promise<boolean>
  state(relayer: RelayerRow, chain: Pick<Chain, 'blockHash'>, latest: number | undefined): Promise<NonceState>
}

export function createNonces({ store, makeId, now }: Pick<SendingParts, 'store' | 'makeId' | 'now'>): Nonces {
  const started_at = new Date(now()).toISOString()
  const compared = new Map<number, { latest: number; isSame: Promise<boolean> }>()

  const nonces: Nonces = {
    async follow(relayer, chain, latest) {
      const { chain_id, address } = relayer
      const { next_nonce, genesis_hash } = await store.getAccount(chain_id, address)
      const isSuspicious = (await store.isSettledFrom(chain_id, address, latest)) || relayer.system_disabled
      if (genesis_hash === null || isSuspicious) {
        const genesis = await chain.blockHash(0)
        if (genesis !== undefined && genesis_hash === null) await store.setGenesis(chain_id, address, genesis)
        else if (genesis !== undefined && genesis !== genesis_hash) {
          await setDisabled(relayer, explainRestart(next_nonce, latest))
          return false
        }
      }
      if (relayer.system_disabled) await setDisabled(relayer, null)
      if (latest > next_nonce) await store.raiseNonce(chain_id, address, latest)
      return true
    },

    async compare(relayer, chain, latest) {
      const before = compared.get(relayer.key)
      if (before && latest >= before.latest && !relayer.system_disabled) {
        before.latest = latest
        return before.isSame
      }
      if (compared.size >= max_compared) compared.clear()
      const isSame = nonces.follow(relayer, chain, latest)
      compared.set(relayer.key, { latest, isSame })
      isSame.catch(() => compared.delete(relayer.key))
      return isSame
    },

    disableWrongChain: (relayer, chain_id) =>
      setDisabled(relayer, `The nodes of the network are on chain ${chain_id} and not on ${relayer.chain_id}`),

    async mend(relayer, chain, latest) {
      const { chain_id, address } = relayer
      for (const nonce of await gapsOf(relayer, latest)) {
        await store.createTransaction({
          id: makeId(),
          relayer_key: relayer.key,
          relayer_id: relayer.id,
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
          intent: 'cancel',
          status_reason: 'Fills a nonce that no transaction held',
          nonce,
          nonce_floor: 0,
        })
      }
      const { next_nonce } = await store.getAccount(chain_id, address)
      const holders = await store.holders(chain_id, address, latest, next_nonce, max_gaps)
      for (const row of holders) {
        if (row.block_hash === null || row.status === 'submitted') continue
        const attempt = (await store.attempts(row.key)).find(({ hash }) => hash === row.hash)
        if (attempt) await chain.send([await store.rawOf(row.key, attempt.number)])
      }
    },

    async trace(relayer, { chain, network }, row, head) {
      const { key, revision } = row
      const nonce = row.nonce as number
      const found = await chain.findByNonce(relayer.address, nonce, head)
      // Without the transaction itself, or while a reorganization may take it back, nothing is certain.
      if (!found || head - found.block_number + 1 < network.required_confirmations) return false
      if ((await store.attempts(key)).some(({ hash }) => hash === found.hash)) return false

      if (
        found.to === row.to &&
        found.value === BigInt(row.value) &&
        found.data === ((await store.dataOf(key)) ?? '0x')
      ) {
        const { hash, block_number, block_hash } = found
        const [receipt] = await chain.receipts([hash])
        if (!receipt) return false
        const copy = 'Sent at this nonce by another copy of this service'
        const end = receipt.succeeded
          ? { status: 'confirmed' as const, status_reason: copy, confirmed_at: new Date(now()).toISOString() }
          : { status: 'failed' as const, status_reason: `Reverted. ${copy}` }
        await store.move([{ key, revision, set: { hash, block_number, block_hash, ...end } }])
      } else if (row.created_at >= started_at && row.intent === 'send') {
        await store.renumber(key, revision, `Nonce ${nonce} was used elsewhere by ${found.hash}; it has a new one`)
      } else {
        const status_reason = `Not sent: ${found.hash}, which this service does not know, has used nonce ${nonce}`
        await store.move([{ key, revision, set: { status: 'failed', status_reason } }])
      }
      return true
    },

    async state(relayer, chain, latest) {
      const { next_nonce, genesis_hash } = await store.getAccount(relayer.chain_id, relayer.address)
      const base = { next_nonce, chain_latest: latest ?? null, gaps: [] as number[] }
      if (relayer.disabled_reason?.startsWith(restarted)) {
        return { ...base, status: 'chain_restarted', explanation: relayer.disabled_reason }
      }
      if (latest === undefined) {
        return {
          ...base,
          status: 'unreachable',
          explanation: 'No node of the network answers: what is accepted waits.',
        }
      }
      // An account at rest has no lane that would have seen it.
      if (await store.isSettledFrom(relayer.chain_id, relayer.address, latest)) {
        const genesis = await chain.blockHash(0).catch(() => undefined)
        if (genesis !== undefined && genesis_hash !== null && genesis !== genesis_hash) {
          return { ...base, status: 'chain_restarted', explanation: explainRestart(next_nonce, latest) }
        }
      }
      if (latest > next_nonce) {
        const explanation = `Nonces up to ${latest - 1} were used elsewhere; the next transaction gets ${latest}.`
        return { ...base, status: 'chain_ahead', explanation }
      }
      const gaps = await gapsOf(relayer, latest)
      if (gaps.length > 0) {
        const explanation = 'The chain waits for nonces that no transaction holds; transfers of nothing fill them.'
        return { ...base, gaps, status: 'gap', explanation }
      }
      const waiting = next_nonce - latest
      const explanation =
        waiting === 0 ? 'Store and chain agree.' : `${waiting} accepted transactions are not mined yet.`
      return { ...base, status: 'in_step', explanation }
    },
  }
  return nonces

  async function gapsOf({ chain_id, address }: RelayerRow, latest: number): Promise<number[]> {
    const { next_nonce } = await store.getAccount(chain_id, address)
    // A hole further on shows when what lies before it is mined.
    const to = Math.min(next_nonce, latest + max_holders)
    const held = new Set((await store.holders(chain_id, address, latest, to, max_holders)).map(({ nonce }) => nonce))
    // A nonce that was given back in between is no gap: it is the next one.
    const end = Math.min(to, (await store.getAccount(chain_id, address)).next_nonce)
    const gaps: number[] = []
    for (let nonce = latest; nonce < end && gaps.length < max_gaps; nonce += 1) if (!held.has(nonce)) gaps.push(nonce)
    return gaps
  }

  async function setDisabled(relayer: RelayerRow, disabled_reason: string | null): Promise<void> {
    if (relayer.disabled_reason === disabled_reason) return
    const system_disabled = disabled_reason !== null
    await store.updateRelayer(relayer.id, (current) => ({ ...current, system_disabled, disabled_reason }))
  }
}

const explainRestart = (next_nonce: number, latest: number): string =>
  `${restarted} (its first block is another one): this account has used ${next_nonce} nonces on the former chain and ` +
  `${latest} on this one. ` +
  'Sending has stopped. Bring the former chain back, or on a test ' +
  'network POST nonce/heal with {"chain_restarted": true} to begin anew on this one'
