import type { SendTransactionRequest, SweepRelayerRequest, Transaction } from '../../../generated/openapi.ts'
import { type NetworkClient, requireClient } from '../../chain/chains.ts'
import { dataFeeOf } from '../../chain/gas.ts'
import { RpcUnavailable, rpcKindOf } from '../../chain/rpc.ts'
import { transferCall } from '../../domain/encoding/contract-data.ts'
import { conflict, DomainError, errorOf, insufficientFunds } from '../../domain/errors.ts'
import { most, priceByTier, priceColumns, wholePrices } from '../../domain/fees.ts'
import { unitOf } from '../../domain/policies/token-calls.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { readSubmission } from '../../domain/submission.ts'
import { readTransactionRequest } from '../../domain/transaction-request.ts'
import { readAddress, readAmount, readAsset } from '../../domain/values.ts'
import { checkPause } from '../transactions/check-request.ts'
import { asDomainError, defaultTier } from '../transactions/quote.ts'
import {
  type Asker,
  hashOfBody,
  newTransaction,
  prepare,
  type TransactionsContext,
  unwrapInsert,
  unwrapReplay,
} from '../transactions/send.ts'

/** Other transactions may be accepted while the chain is asked. */
const maxAttempts = 3

/** Sends all that a relayer has left, after everything that is unfinished. */
export async function sweep(
  context: TransactionsContext,
  asker: Asker,
  relayerId: string,
  body: SweepRelayerRequest,
): Promise<Transaction> {
  const { store, chains, keyring } = context
  const { idempotency, auditEntry } = asker
  const found = await keyring.findRelayer(relayerId)
  const once = idempotency && { ...idempotency, body_hash: hashOfBody({ sweep: true, ...body }) }
  if (once) {
    const replayed = await store.replay(found.row_id, once)
    if (replayed) return unwrapReplay(replayed, auditEntry)
  }
  checkPause(found)
  const to = readAddress(body.to, ['to'])
  const { coin_token } = found
  const given = readAsset(body.asset ?? 'coin', ['asset'])
  const isCoinToken = coin_token?.address === given
  const asset = isCoinToken ? 'coin' : given
  const keep = BigInt(readAmount(body.keep_amount ?? '0', ['keep_amount'])) * (isCoinToken ? unitOf(coin_token) : 1n)
  const client = await requireClient(chains, asker.nodes, found)

  for (let count = 0; count < maxAttempts; count += 1) {
    const { next_nonce } = await store.getAccount(found.chain_id, found.address)
    const wanted: SendTransactionRequest = await rest(context, found, client, { asset, to, keep }).catch((error) => {
      throw asDomainError(error, found, client, null)
    })
    const request = readTransactionRequest(wanted)
    // A drained relayer may be swept.
    const prepared = await prepare(context, asker, { relayer: found, request, is_sweep: true }).catch((error) => {
      if (!(error instanceof DomainError) || error.code !== 'insufficient_funds') throw error
    })
    if (!prepared) continue
    const made = newTransaction(context, prepared, request)
    // A higher price lowers the value, so the present price is no ceiling.
    const sweeping = { is_sweep: true, gas_is_given: false, fee_ceiling: null, tip_ceiling: null }
    const transaction = asset === 'coin' ? { ...made, ...sweeping } : made
    const creation = await store.createTransaction(
      { ...transaction, expected_nonce: next_nonce, ...(once && { idempotency: once }) },
      auditEntry,
    )
    // Another transaction was accepted or priced anew meanwhile.
    if (creation.outcome === 'other_nonce' || creation.outcome === 'too_little') continue
    context.wake(prepared.relayer.row_id)
    return unwrapInsert(creation, prepared, auditEntry)
  }
  throw errorOf('invalid_state', 'relayer', 'its unfinished transactions are changing: drain the relayer first')
}

interface Target {
  /** `coin`, or a token's address. */
  asset: string
  to: string
  keep: bigint
}

/** The transfer of what is left. */
const rest = (context: TransactionsContext, relayer: RelayerRow, client: NetworkClient, { asset, to, keep }: Target) =>
  asset === 'coin'
    ? ofCoin(context, relayer, client, { to, keep })
    : ofToken(context, relayer, client, { asset, to, keep })

/** The whole price is paid: nothing of the fee comes back. */
async function ofCoin(
  { funds: accountFunds }: TransactionsContext,
  relayer: RelayerRow,
  client: NetworkClient,
  { to, keep }: Omit<Target, 'asset'>,
): Promise<SendTransactionRequest> {
  const market = await client.market()
  const kind = relayer.policies.eip1559_pricing === false ? 'legacy' : market.kind
  const price = most(priceByTier(market, defaultTier, 'legacy'))
  const call = { from: relayer.address, to, value: 1n, data: null }
  const mempool = client.mempoolOf({ submission: readSubmission(client.network.submission, client.network) })
  // Without a balance it fails below.
  const gasLimit = await mempool.gas.limit(call).catch((error) => {
    if (rpcKindOf(error) === 'insufficient_funds') return 0
    throw error
  })
  const empty = { data: null, access_list: null, authorization_list: null }
  const dataFee = await dataFeeOf(client, empty, gasLimit)
  const { funds, balance, account } = await accountFunds.at(
    relayer,
    await client.atNewest((snapshot) => snapshot.account(relayer.address)),
  )
  const value = funds - BigInt(account.reserved) - BigInt(gasLimit) * price - dataFee - keep
  if (value <= 0n) {
    throw insufficientFunds(
      'value',
      `of ${balance} wei nothing is left after unfinished transactions, the fee and keep_amount`,
    )
  }
  return { to, value: `${value}`, gas_limit: gasLimit, ...priceColumns(wholePrices(price, kind)) }
}

async function ofToken(
  { store }: TransactionsContext,
  { row_id, chain_id, address }: RelayerRow,
  client: NetworkClient,
  { asset, to, keep }: Target,
): Promise<SendTransactionRequest> {
  if (await store.hasUnfinishedCalls(row_id)) {
    throw conflict(
      'invalid_state',
      ['asset'],
      'an unfinished transaction of the relayer may move tokens: repeat this when it has ended',
    )
  }
  const balance = await client.atNewest(async (snapshot) => {
    const isBehind = await store.hasMinedFrom(chain_id, address, await snapshot.latestNonce(address))
    if (isBehind) throw new RpcUnavailable('The node lacks the newest transactions of the relayer')
    return snapshot.balance(address, asset)
  })
  const amount = balance - keep
  if (amount <= 0n) throw insufficientFunds('value', 'nothing of the token is left after keep_amount')
  return { to: asset, value: '0', data: transferCall(to, amount) }
}
