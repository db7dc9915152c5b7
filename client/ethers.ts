import {
  AbstractSigner,
  type AccessList,
  accessListify,
  assert,
  assertArgument,
  BrowserProvider,
  getAddress,
  hexlify,
  makeError,
  type Provider,
  resolveAddress,
  Signature,
  Transaction,
  type TransactionReceipt,
  type TransactionRequest,
  TransactionResponse,
  type TypedDataDomain,
  TypedDataEncoder,
  type TypedDataField,
} from 'ethers'
import type {
  AccessList as Listed,
  Transaction as RelayerTransaction,
  SendTransactionRequest,
  SignTypedDataRequest,
} from '../generated/client.ts'
import type { RelayerClient } from './index.ts'
import { pause } from './pause.ts'
import { createRelayerProvider } from './provider.ts'
import { waitForTransaction } from './transactions.ts'

const betweenReceiptsMs = 300
/** Of the provider, for events and several confirmations. The default of ethers is 4 seconds. */
const pollingMs = 1_000

/** `customData` of a transaction request. */
export type RelayerOptions = Pick<SendTransactionRequest, 'speed' | 'valid_until' | 'reference'> & {
  idempotencyKey?: string
}

/**
 * A relayer as a Signer of ethers 6. Nonces, prices, retries and policies are the service's. Each transaction is sent under an
 * Idempotency-Key of its own. Its `provider` reads through the relayer. A refusal by the service throws RelayerError.
 */
export class RelayerSigner extends AbstractSigner<Provider> {
  readonly client: RelayerClient
  readonly relayerId: string
  #address: Promise<string> | undefined

  constructor(client: RelayerClient, relayerId: string) {
    super(new BrowserProvider(createRelayerProvider(client, relayerId), undefined, { pollingInterval: pollingMs }))
    this.client = client
    this.relayerId = relayerId
  }

  getAddress(): Promise<string> {
    const found = this.#address ?? this.#findAddress()
    this.#address = found
    // A failure is not cached.
    found.catch(() => {
      this.#address = undefined
    })
    return found
  }

  async #findAddress() {
    const path = { relayer_id: this.relayerId }
    return getAddress((await this.client.get('/api/v1/relayers/{relayer_id}', { path })).data.address)
  }

  connect(_provider: Provider | null): RelayerSigner {
    throw makeError('a RelayerSigner reads through its relayer', 'UNSUPPORTED_OPERATION', { operation: 'connect' })
  }

  async signMessage(message: string | Uint8Array): Promise<string> {
    const body = typeof message === 'string' ? { message } : { message_hex: hexlify(message) }
    const { data } = await this.client.post('/api/v1/relayers/{relayer_id}/sign', { path: this.#path, body })
    return data.sig
  }

  async signTypedData(
    domain: TypedDataDomain,
    types: Record<string, TypedDataField[]>,
    value: Record<string, unknown>,
  ): Promise<string> {
    const resolve = async (name: string) => (await this.provider.resolveName(name)) ?? name
    const resolved = await TypedDataEncoder.resolveNames(domain, types, value, resolve)
    const body: SignTypedDataRequest = TypedDataEncoder.getPayload(resolved.domain, types, resolved.value)
    const path = '/api/v1/relayers/{relayer_id}/sign-typed-data/full'
    return (await this.client.post(path, { path: this.#path, body })).data.sig
  }

  /** The request must be complete: nonce, prices, gas limit, chain id. The service does not track the signed transaction. */
  async signTransaction(request: TransactionRequest): Promise<string> {
    const { from, to, ...others } = await this.populateTransaction(request)
    const unsignedTransaction = Transaction.from({ ...others, to: to ?? null }).unsignedSerialized
    const path = '/api/v1/relayers/{relayer_id}/sign-transaction'
    return (await this.client.post(path, { path: this.#path, body: { unsigned_transaction: unsignedTransaction } }))
      .data.signed_transaction
  }

  /**
   * Resolves when a node has the transaction. After 30 seconds without a signature, for example while the relayer waits for funds,
   * it throws TIMEOUT with the accepted transaction in `info`: it is sent later, so do not send it again.
   */
  override async sendTransaction(request: TransactionRequest): Promise<RelayerTransactionResponse> {
    const { idempotencyKey, ...content } = (request.customData ?? {}) as RelayerOptions
    const { chainId } = await this.provider.getNetwork()
    const body = { ...(await this.#bodyOf(request, chainId)), ...content }
    const options = { wait: 'submitted', ...(idempotencyKey !== undefined && { idempotencyKey }) } as const
    const accepted = await this.client.transactions.send(this.relayerId, body, options)
    const { id, hash, status_reason: reason } = accepted
    if (hash === null) {
      const message = `the transaction ${id} is accepted and not signed yet: ${reason ?? 'its turn has not come'}`
      throw makeError(message, 'TIMEOUT', { operation: 'sendTransaction', reason: 'not signed', info: { accepted } })
    }
    return new RelayerTransactionResponse(this, { ...accepted, hash }, chainId)
  }

  async #bodyOf(request: TransactionRequest, chainId: bigint): Promise<SendTransactionRequest> {
    const { accessList, to, from, nonce, value, data, gasLimit, gasPrice, maxFeePerGas, maxPriorityFeePerGas } = request
    for (const name of ['authorizationList', 'blobs', 'blobVersionedHashes'] as const)
      assertArgument((request[name] ?? []).length === 0, 'a RelayerSigner cannot send it', name, request[name])
    assertArgument(nonce == null, 'the service assigns nonces', 'nonce', nonce)
    assertArgument(
      request.chainId == null || BigInt(request.chainId) === chainId,
      `the relayer is on chain ${chainId}`,
      'chainId',
      request.chainId,
    )
    if (from != null) {
      const address = await resolveAddress(from, this.provider)
      assertArgument(address === (await this.getAddress()), 'is not the address of the relayer', 'from', address)
    }
    return {
      ...(to != null && { to: await resolveAddress(to, this.provider) }),
      ...(value != null && { value: BigInt(value) }),
      ...(data != null && { data }),
      ...(accessList != null && { access_list: accessListify(accessList).map(toListed) }),
      ...(gasLimit != null && { gas_limit: Number(gasLimit) }),
      ...(gasPrice != null && { gas_price: BigInt(gasPrice) }),
      ...(maxFeePerGas != null && { max_fee_per_gas: BigInt(maxFeePerGas) }),
      ...(maxPriorityFeePerGas != null && { max_priority_fee_per_gas: BigInt(maxPriorityFeePerGas) }),
    }
  }

  get #path() {
    return { relayer_id: this.relayerId }
  }
}

/**
 * A transaction of a relayer. `wait` follows it in the service, so it ends also when a new price gave it another hash: with the
 * receipt of the version that was mined.
 */
export class RelayerTransactionResponse extends TransactionResponse {
  /** The id in the service. */
  readonly id: string
  readonly #signer: RelayerSigner

  constructor(signer: RelayerSigner, transaction: RelayerTransaction & { hash: string }, chainId: bigint) {
    super(paramsOf(transaction, chainId), signer.provider)
    this.id = transaction.id
    this.#signer = signer
  }

  /**
   * As in ethers: `confirms` blocks (default 1), `timeout` in milliseconds (default none); CALL_EXCEPTION when it is reverted.
   * Throws CANCELLED when it was canceled or expired, and SERVER_ERROR when the service could not send it.
   */
  override async wait(confirms = 1, timeout = 0): Promise<TransactionReceipt | null> {
    const { provider } = this.#signer
    if (confirms === 0) return super.wait(0)
    const signal = timeout > 0 ? AbortSignal.timeout(timeout) : undefined
    const first = await this.#mined(signal).catch((error) => {
      throw signal?.aborted ? makeError('wait for transaction timeout', 'TIMEOUT') : error
    })
    const { status, status_reason } = first.transaction
    const told = status_reason ?? status
    if (status === 'canceled' || status === 'expired')
      throw makeError(`the transaction ${this.id} is ${status}: ${told}`, 'CANCELLED')
    const receipt =
      first.receipt !== null && confirms > 1
        ? await provider.waitForTransaction(first.receipt.hash, confirms, ...(timeout > 0 ? [timeout] : []))
        : first.receipt
    if (receipt === null)
      throw makeError(`the transaction ${this.id} failed: ${told}`, 'SERVER_ERROR', { request: this.id })
    const transaction = { to: receipt.to, from: receipt.from, data: this.data }
    const revert = { action: 'sendTransaction', data: null, reason: told, invocation: null, revert: null } as const
    assert(receipt.status !== 0, told, 'CALL_EXCEPTION', { ...revert, transaction, receipt })
    return receipt
  }

  /**
   * The transaction when it is in a block or has ended, and its receipt; null when it ended without one. Receipts are read without
   * ethers' `waitForTransaction`: that compares with a block number of its cache, and then waits for another block.
   */
  async #mined(signal: AbortSignal | undefined) {
    const { client, relayerId, provider } = this.#signer
    const options = { until: 'mined', ...(signal && { signal }) } as const
    for (;;) {
      const transaction = await waitForTransaction(client, relayerId, this.id, options)
      const { hash, status, receipt: inBlock } = transaction
      if (!inBlock || hash === null || status === 'canceled' || status === 'expired')
        return { transaction, receipt: null }
      const receipt = await provider.getTransactionReceipt(hash)
      if (receipt !== null) return { transaction, receipt }
      // The node that was asked has not seen the block yet, or a reorganization has removed it.
      await pause(betweenReceiptsMs, signal)
    }
  }
}

function paramsOf(transaction: RelayerTransaction & { hash: string }, chainId: bigint) {
  const { hash, from, to, nonce, gas_limit, gas_price, max_fee_per_gas, max_priority_fee_per_gas } = transaction
  const isLegacy = gas_price !== null
  const accessList = transaction.access_list?.map(fromListed) ?? null
  return {
    hash,
    type: isLegacy ? (accessList === null ? 0 : 1) : 2,
    from: getAddress(from),
    to: to === null ? null : getAddress(to),
    nonce: Number(nonce),
    gasLimit: BigInt(gas_limit ?? 0),
    gasPrice: BigInt(gas_price ?? max_fee_per_gas ?? 0),
    maxFeePerGas: isLegacy ? null : BigInt(max_fee_per_gas ?? 0),
    maxPriorityFeePerGas: isLegacy ? null : BigInt(max_priority_fee_per_gas ?? 0),
    value: BigInt(transaction.value),
    data: transaction.data ?? '0x',
    chainId,
    signature: Signature.from(transaction.signature?.sig),
    accessList,
    authorizationList: null,
    blockNumber: null,
    blockHash: null,
    index: 0,
  }
}

const toListed = ({ address, storageKeys }: AccessList[number]) => ({ address, storage_keys: storageKeys })
const fromListed = ({ address, storage_keys }: Listed[number]) => ({
  address: getAddress(address),
  storageKeys: storage_keys,
})
