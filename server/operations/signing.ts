import type { SignMessageRequest, SignTypedDataRequest, TypedData } from '../../generated/openapi.ts'
import { type ApiError, badRequest, notFound, relayerNotFound, relayerPaused } from '../errors.ts'
import type { UnsignedTransaction } from '../evm/unsigned-transaction.ts'
import { toHex } from '../hex.ts'
import { type Caller, type Handlers, single } from '../operation.ts'
import {
  checkAddress,
  checkAuthorization,
  checkSignTransaction,
  isAllowedDomain,
  messageFault,
  type OnAddress,
  typedDataFault,
} from '../policies/signing-policies.ts'
import type { PendingAuditEntry, RelayerRow } from '../store/rows.ts'
import type { OverLimit, Spend } from '../store/sending-rows.ts'
import type { Store } from '../store/store.ts'
import type { Observer, SignatureKind } from '../telemetry/observer.ts'
import { type ReadyToSign, signBatch } from './sign-batch.ts'
import { hash, messageOf, type Signature, signatureResult } from './signing-values.ts'
import { readAddress } from './values.ts'

/** A digest, and the bytes that have it. */
interface Content {
  digest: Uint8Array
  preimage(): Uint8Array
}

interface Held extends OnAddress {
  signer: { sign(digest: Uint8Array, preimage: () => Uint8Array): Signature | Promise<Signature> }
}

/** The members of a transaction that policies check. */
interface Judged {
  to: string | null
  value: string
  data: string | null
  gas_price: string | null
  max_fee_per_gas: string | null
}

const place = '/body/unsigned_transaction'

type BatchItem = SignMessageRequest | SignTypedDataRequest

export interface SigningDependencies {
  store: Pick<Store, 'spend' | 'withAudit'>
  observer: Observer
  findSigner(relayer_id: string): Promise<Held | undefined>
  messageDigest(message: string | Uint8Array): Uint8Array
  typedDataDigest(domainSeparator: Uint8Array, structHash: Uint8Array): Uint8Array
  /** The bytes that have these digests, for key services that hash. */
  messagePreimage(message: string | Uint8Array): Uint8Array
  typedDataPreimage(domainSeparator: Uint8Array, structHash: Uint8Array): Uint8Array
  authorizationPreimage(authorization: { chain_id: number; address: string; nonce: number }): Uint8Array
  /** Throws ApiError (400) with the path of the fault. */
  hashTypedData(document: TypedData): {
    domain_separator: Uint8Array
    struct_hash: Uint8Array
    chain_id: bigint | undefined
  }
  authorizationDigest(authorization: { chain_id: number; address: string; nonce: number }): Uint8Array
  /** Throws when the bytes are not an unsigned transaction. */
  parseUnsigned(hex: string): UnsignedTransaction
  /** Checks a transaction against the relayer's policies. Throws ApiError (403). */
  checkPolicies(relayer: RelayerRow, transaction: Judged): void
  /** Checks the highest possible fee, in wei, against the policies. Throws ApiError (403). */
  checkFee(relayer: RelayerRow, fee: bigint): void
  /** The amounts that count against daily limits. */
  spendingOf(relayer: RelayerRow, transaction: Judged, fee: bigint): Spend[]
  overLimit(over: OverLimit): ApiError
  /** Counts this many additional requests of the caller. Throws ApiError (429). */
  countCalls(caller: Caller, count: number): Promise<void>
}

type Signing = Pick<
  Handlers,
  'signMessage' | 'signTypedData' | 'signTypedDataFull' | 'signTransaction' | 'signAuthorization' | 'signBatch'
>

export function signing(dependencies: SigningDependencies): Signing {
  const { store, observer, findSigner, messageDigest, typedDataDigest, parseUnsigned } = dependencies

  const find = async (relayer_id: string, missing = relayerNotFound): Promise<Held> => {
    const held = await findSigner(relayer_id)
    if (!held) throw missing(relayer_id)
    if (held.relayer.paused) throw relayerPaused()
    return held
  }

  return {
    ...signBatch({ countCalls: dependencies.countCalls, prepare }),

    async signMessage({ path, body, caller, auditEntry }) {
      const content = messageContent(body)
      const held = await find(path.relayer_id, () => notFound('Not found'))
      auditEntry.subject = toHex(content.digest)
      checkAddress(held, caller, messageFault)
      return single(signatureResult(await sign(held.signer, content, 'message', auditEntry)))
    },

    async signTypedData({ path, body, caller, auditEntry }) {
      const held = await find(path.relayer_id)
      const separator = hash('domain_separator', body)
      const content = typedDataContent(separator, hash('hash_struct_message', body))
      auditEntry.subject = toHex(content.digest)
      checkAddress(held, caller, (policies) => typedDataFault(policies, separator, true))
      return single(signatureResult(await sign(held.signer, content, 'typed_data', auditEntry)))
    },

    async signTypedDataFull({ path, body, caller, auditEntry }) {
      const held = await find(path.relayer_id)
      const { domain_separator, struct_hash, chain_id } = dependencies.hashTypedData(body)
      const content = typedDataContent(domain_separator, struct_hash)
      auditEntry.subject = toHex(content.digest)
      checkAddress(held, caller, (policies) => typedDataFault(policies, domain_separator, false))
      const { relayer, signer } = held
      if (chain_id !== undefined && chain_id !== BigInt(relayer.chain_id)) {
        // A policy that allows exactly this domain takes precedence over its chain id.
        if (!isAllowedDomain(relayer.policies, domain_separator)) {
          throw badRequest(
            '/body/domain/chainId',
            `chain id must be ${relayer.chain_id}, as the relayer's network has it; it is ${chain_id}`,
          )
        }
      }
      return single(signatureResult(await sign(signer, content, 'typed_data', auditEntry)))
    },

    async signAuthorization({ path, body, auditEntry }) {
      const { relayer, signer } = await find(path.relayer_id)
      const address = readAddress(body.address, '/body/address')
      checkAuthorization(relayer.policies, address)
      const authorization = { chain_id: relayer.chain_id, address, nonce: body.nonce }
      const digest = dependencies.authorizationDigest(authorization)
      const preimage = () => dependencies.authorizationPreimage(authorization)
      auditEntry.subject = toHex(digest)
      const { r, s, v } = signatureResult(await sign(signer, { digest, preimage }, 'authorization', auditEntry))
      return single({ ...authorization, r, s, y_parity: v - 27 })
    },

    async signTransaction({ path, body, auditEntry }) {
      const { relayer, signer } = await find(path.relayer_id)
      checkSignTransaction(relayer.policies)
      const transaction = parse(body.unsigned_transaction)
      if (transaction.chain_id !== BigInt(relayer.chain_id)) {
        throw badRequest(
          place,
          `chain id must be ${relayer.chain_id}, as the relayer's network has it; it is ${transaction.chain_id}`,
        )
      }
      auditEntry.subject = toHex(transaction.digest)
      await judge(relayer, transaction, auditEntry)
      const { raw, hash, signature } = transaction.finish(await sign(signer, transaction, 'transaction', auditEntry))
      return single({ signed_transaction: toHex(raw), hash, signature })
    },
  }

  /** The checks of "Sign a message" and "Sign hashed typed data", without the signature. */
  async function prepare(relayer_id: string, item: BatchItem, caller: Caller): Promise<ReadyToSign> {
    const held = await find(relayer_id)
    if (!('domain_separator' in item)) {
      const content = messageContent(item)
      checkAddress(held, caller, messageFault)
      return readyToSign(held, content, 'message')
    }
    const separator = hash('domain_separator', item)
    const content = typedDataContent(separator, hash('hash_struct_message', item))
    checkAddress(held, caller, (policies) => typedDataFault(policies, separator, true))
    return readyToSign(held, content, 'typed_data')
  }

  function messageContent(request: SignMessageRequest): Content {
    const message = messageOf(request)
    return { digest: messageDigest(message), preimage: () => dependencies.messagePreimage(message) }
  }

  function typedDataContent(separator: Uint8Array, struct_hash: Uint8Array): Content {
    return {
      digest: typedDataDigest(separator, struct_hash),
      preimage: () => dependencies.typedDataPreimage(separator, struct_hash),
    }
  }

  function readyToSign({ signer }: Held, content: Content, kind: 'message' | 'typed_data'): ReadyToSign {
    return {
      digest: toHex(content.digest),
      operation: kind === 'message' ? 'signMessage' : 'signTypedData',
      sign: async (auditEntry) => signatureResult(await sign(signer, content, kind, auditEntry)),
    }
  }

  async function sign(
    signer: Held['signer'],
    { digest, preimage }: Content,
    kind: SignatureKind,
    auditEntry: PendingAuditEntry,
  ): Promise<Signature> {
    const signature = await signer.sign(digest, preimage)
    if (signature.request_id !== undefined) auditEntry.key_request_id = signature.request_id
    observer.signed?.(kind)
    return signature
  }

  /** Checks the policies, and stores the amounts that count against daily limits before the transaction is signed. */
  async function judge(
    relayer: RelayerRow,
    { to, value, data, gas_price, gas_limit }: ReturnType<typeof parseUnsigned>,
    auditEntry: PendingAuditEntry,
  ) {
    const { chain_id, address } = relayer
    const amounts = { value: value.toString(), gas_price: gas_price.toString(), max_fee_per_gas: null }
    const judged: Judged = { to, data: data.toLowerCase(), ...amounts }
    dependencies.checkPolicies(relayer, judged)
    const fee = gas_limit * gas_price
    dependencies.checkFee(relayer, fee)
    const spending = dependencies.spendingOf(relayer, judged, fee)
    if (spending.length === 0) return
    const over = await store.withAudit(auditEntry, () => store.spend({ chain_id, address }, spending))
    if (over) throw dependencies.overLimit(over)
  }

  function parse(hex: string) {
    try {
      return parseUnsigned(hex)
    } catch {
      const wanted = 'must be an unsigned transaction of type legacy, EIP-2930 or EIP-1559, as hex of its RLP'
      throw badRequest(
        place,
        hex.startsWith('0x03') ? 'is a blob transaction (EIP-4844), which is not supported' : wanted,
      )
    }
  }
}
