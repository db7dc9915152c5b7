import type { SendTransactionRequest, SweepRequest } from '../../../generated/openapi.ts'
import { dataFeeOf } from '../../chain/data-fee.ts'
import { RpcUnavailable, rpcKindOf } from '../../chain/rpc.ts'
import { transferCall } from '../../domain/encoding/contract-data.ts'
import { conflict, DomainError, errorOf, insufficientFunds } from '../../domain/errors.ts'
import { most, priceColumns, quote, wholePrices } from '../../domain/fees.ts'
import type { Replay } from '../../domain/new-transaction.ts'
import { unitOf } from '../../domain/policies/token-calls.ts'
import type { PendingAuditEntry, RelayerRow } from '../../domain/rows.ts'
import { readSubmission } from '../../domain/submission.ts'
import { readTransactionRequest } from '../../domain/transaction-request.ts'
import { readAddress, readAmount } from '../../domain/values.ts'
import type { NetworkClient, SenderContext } from '../../sender/context.ts'
import { checkPause } from '../transactions/check-request.ts'
import { asDomainError, createFundsReader, defaultTier } from '../transactions/quote.ts'
import type { Prepare } from '../transactions/replace.ts'
import type { Accepted, Asker, Idempotency, SubmitParts } from '../transactions/send-parts.ts'

export type Sweep = (
  relayerId: string,
  body: SweepRequest,
  idempotency: Idempotency | undefined,
  auditEntry: PendingAuditEntry,
  asker: Asker,
) => Promise<Accepted>

interface SweepParts extends Pick<SubmitParts, 'store' | 'newTransaction' | 'wake'> {
  findRelayer(relayerId: string): Promise<RelayerRow>
  clientFor: SenderContext['clientFor']
  prepare: Prepare
  hashOf(body: object): string
  /** Throws DomainError for a creation that was refused. */
  accepted(creation: Replay, relayerId: string): Accepted
}

/** Other transactions may be accepted while the chain is asked. */
const maxAttempts = 3

/** Sends all that a relayer has left, after everything that is unfinished. */
export function createSweep(parts: SweepParts): Sweep {
  const { store, findRelayer, clientFor } = parts
  const readFunds = createFundsReader(store)

  /** The whole price is paid: nothing of the fee comes back. */
  async function ofCoin(relayer: RelayerRow, client: NetworkClient, to: string, keep: bigint) {
    const market = await client.market()
    const kind = relayer.policies.eip1559_pricing === false ? 'legacy' : market.kind
    const price = most(quote(market, defaultTier, 'legacy'))
    const call = { from: relayer.address, to, value: 1n, data: null }
    const mempool = client.mempoolOf({ submission: readSubmission(client.network.submission, client.network) })
    // Without a balance it fails below.
    const gasLimit = await mempool.gas.limit(call).catch((error) => {
      if (rpcKindOf(error) === 'insufficient_funds') return 0
      throw error
    })
    const empty = { data: null, access_list: null, authorization_list: null }
    const dataFee = await dataFeeOf(client, empty, gasLimit)
    const { funds, balance, account } = await readFunds.at(
      relayer,
      await client.atNewest((snapshot) => snapshot.account(relayer.address)),
    )
    const value = funds - BigInt(account.reserved) - BigInt(gasLimit) * price - dataFee - keep
    if (value <= 0n) {
      throw insufficientFunds(`of ${balance} wei nothing is left after unfinished transactions, the fee and keep`)
    }
    return { to, value: `${value}`, gas_limit: gasLimit, ...priceColumns(wholePrices(price, kind)) }
  }

  async function ofToken(relayer: RelayerRow, client: NetworkClient, asset: string, to: string, keep: bigint) {
    if (await store.hasUnfinishedCalls(relayer.row_id)) {
      throw conflict(
        ['asset'],
        'an unfinished transaction of the relayer may move tokens: repeat this when it has ended',
      )
    }
    const { chain_id, address } = relayer
    const balance = await client.atNewest(async (snapshot) => {
      const isBehind = await store.isSettledFrom(chain_id, address, await snapshot.latestNonce(address))
      if (isBehind) throw new RpcUnavailable('The node lacks the newest transactions of the relayer')
      return snapshot.balance(address, asset)
    })
    const amount = balance - keep
    if (amount <= 0n) throw insufficientFunds('nothing of the token is left after keep')
    return { to: asset, value: '0', data: transferCall(to, amount) }
  }

  return async (relayerId, body, idempotency, auditEntry, asker) => {
    const found = await findRelayer(relayerId)
    const once = idempotency && { ...idempotency, body_hash: parts.hashOf({ sweep: true, ...body }) }
    if (once) {
      const replayed = await store.replay(once.caller, found.row_id, once.key, once.body_hash)
      if (replayed) return parts.accepted(replayed, found.id)
    }
    checkPause(found)
    const to = readAddress(body.to, ['to'])
    const { coin_token } = found
    const given = body.asset === undefined ? undefined : readAddress(body.asset, ['asset'])
    const isCoin = given !== undefined && coin_token?.address === given
    const asset = isCoin ? undefined : given
    const keep = BigInt(readAmount(body.keep ?? '0', ['keep'])) * (isCoin ? unitOf(coin_token) : 1n)
    const client = await clientFor(asker.nodes, found)
    if (!client) throw errorOf('conflict', 'relayer', 'the network of the relayer was deleted')

    /** Undefined: another transaction was accepted or priced anew meanwhile. */
    async function attempt(its: NetworkClient): Promise<Accepted | undefined> {
      const { next_nonce } = await store.getAccount(found.chain_id, found.address)
      const wanted: SendTransactionRequest = await (asset === undefined
        ? ofCoin(found, its, to, keep)
        : ofToken(found, its, asset, to, keep)
      ).catch((error) => {
        throw asDomainError(error, null)
      })
      const request = readTransactionRequest(wanted)
      // A drained relayer may be swept.
      const prepared = await parts.prepare(found, request, asker, undefined, false).catch((error) => {
        if (!(error instanceof DomainError) || error.code !== 'insufficient_funds') throw error
      })
      if (!prepared) return undefined
      const { relayer, quote: quoted } = prepared
      const made = parts.newTransaction(relayer, request, quoted)
      // A higher price lowers the value, so the present price is no ceiling.
      const sweeping = { is_sweep: true, gas_is_given: false, fee_ceiling: null, tip_ceiling: null }
      const transaction = asset === undefined ? { ...made, ...sweeping } : made
      auditEntry.subject = transaction.id
      const creation = await store.createTransaction(
        { ...transaction, expected_nonce: next_nonce, ...(once && { idempotency: once }) },
        auditEntry,
      )
      if (creation.outcome === 'other_nonce' || creation.outcome === 'too_little') return undefined
      parts.wake(relayer.row_id)
      return parts.accepted(creation, relayer.id)
    }

    for (let count = 0; count < maxAttempts; count += 1) {
      const accepted = await attempt(client)
      if (accepted) return accepted
    }
    throw errorOf('conflict', 'relayer', 'its unfinished transactions are changing: drain the relayer first')
  }
}
