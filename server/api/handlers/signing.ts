import type { SignMessageRequest, SignTypedDataRequest } from '../../../generated/openapi.ts'
import { parseUnsigned, type UnsignedTransaction } from '../../domain/decoding/transaction.ts'
import { messageDigest, messagePreimage, typedDataDigest, typedDataPreimage } from '../../domain/encoding/digest.ts'
import { authorizationDigest, authorizationPreimage } from '../../domain/encoding/envelope.ts'
import { type HashedTypedData, hashTypedData } from '../../domain/encoding/typed-data.ts'
import { badRequest, notFound } from '../../domain/errors.ts'
import type { Handlers } from '../../domain/operation.ts'
import { checkFee } from '../../domain/policies/fee-policies.ts'
import {
  type AskedTypedData,
  checkAddress,
  checkAuthorization,
  checkSignTransaction,
  isAllowedDomain,
  messageFault,
  typedDataFault,
} from '../../domain/policies/signing-policies.ts'
import { signatureSpending } from '../../domain/policies/token-signatures.ts'
import { checkPolicies, type Judged, spendingOf } from '../../domain/policies/transaction-policies.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { readAddress } from '../../domain/values.ts'
import { toHex } from '../../lib/hex.ts'
import type { ServicesContext } from '../../services/context.ts'
import { hash, messageOf, type ReadyToSign, signatureResult, signBatch } from '../../services/signing/sign-batch.ts'
import {
  type Charge,
  type Content,
  createKeyUse,
  type Signable,
  type SigningContext,
} from '../../services/signing/sign-with-policy.ts'

const place = ['unsigned_transaction']

type BatchItem = SignMessageRequest | SignTypedDataRequest

type Signing = Pick<
  Handlers,
  'signMessage' | 'signTypedData' | 'signTypedDataFull' | 'signTransaction' | 'signAuthorization' | 'signBatch'
>

export function signing(dependencies: Pick<ServicesContext, 'store' | 'observer' | 'keyring' | 'countCalls'>): Signing {
  const { rightsTo, sign, signCounted } = createKeyUse(dependencies)
  const { countCalls } = dependencies

  return {
    ...signBatch({ countCalls, rightsTo, prepare, sign }),

    async signMessage(request) {
      const content = messageContent(request.body)
      const rights = await rightsTo(request, 'signMessage', () => notFound('Not found'))
      return signatureResult(await sign(request, 'signMessage', rights, message(content)))
    },

    async signTypedData(request) {
      const rights = await rightsTo(request, 'signTypedData')
      const separator = hash('domain_separator', request.body)
      const content = typedDataContent(separator, hash('hash_struct_message', request.body))
      return signatureResult(
        await sign(request, 'signTypedData', rights, typedData(content, { domain_separator: separator })),
      )
    },

    async signTypedDataFull(request) {
      const rights = await rightsTo(request, 'signTypedDataFull')
      const document = hashTypedData(request.body)
      const { domain_separator, struct_hash, chain_id } = document
      const unbound = typedData(typedDataContent(domain_separator, struct_hash), { domain_separator, document })
      const check = (rights: SigningContext) => {
        unbound.check(rights)
        const { relayer } = rights.held
        if (chain_id === undefined || chain_id === BigInt(relayer.chain_id)) return
        // A policy that allows exactly this domain takes precedence over its chain id.
        if (!isAllowedDomain(relayer.policies, domain_separator)) {
          throw badRequest(
            ['domain', 'chainId'],
            `chain id must be ${relayer.chain_id}, as the relayer's network has it; it is ${chain_id}`,
          )
        }
      }
      const signable = { ...unbound, check }
      const charge = signatureCharge(rights.held, document)
      return signatureResult(await signCounted(request, 'signTypedDataFull', rights, signable, charge))
    },

    async signAuthorization(request) {
      const { body } = request
      const rights = await rightsTo(request, 'signAuthorization')
      const address = readAddress(body.address, ['address'])
      const authorization = { chain_id: rights.held.relayer.chain_id, address, nonce: body.nonce }
      const digest = authorizationDigest(authorization)
      const signature = await sign(request, 'signAuthorization', rights, {
        kind: 'authorization',
        content: { digest, preimage: () => authorizationPreimage(authorization) },
        check: ({ held }) => checkAuthorization(held.relayer.policies, address),
      })
      const { r, s, v } = signatureResult(signature)
      return { ...authorization, r, s, y_parity: v - 27 }
    },

    async signTransaction(request) {
      const rights = await rightsTo(request, 'signTransaction')
      const { relayer } = rights.held
      checkSignTransaction(relayer.policies)
      const transaction = parse(request.body.unsigned_transaction)
      if (transaction.chain_id !== BigInt(relayer.chain_id)) {
        throw badRequest(
          place,
          `chain id must be ${relayer.chain_id}, as the relayer's network has it; it is ${transaction.chain_id}`,
        )
      }
      const signable: Signable = {
        kind: 'transaction',
        content: transaction,
        check: ({ held }) => {
          checkSignTransaction(held.relayer.policies)
          judge(held.relayer, transaction)
        },
      }
      request.auditEntry.subject = toHex(transaction.digest)
      const { judged, fee } = judge(relayer, transaction)
      const charge = { account: relayer, spending: spendingOf(relayer, judged, fee) }
      const signature = await signCounted(request, 'signTransaction', rights, signable, charge)
      const { raw, hash, signature: told } = transaction.finish(signature)
      return { signed_transaction: toHex(raw), hash, signature: told }
    },
  }

  /** Prepares the signature of an item of a batch, which is checked as "Sign a message" or "Sign hashed typed data" is. */
  function prepare(item: BatchItem): ReadyToSign {
    if (!('domain_separator' in item)) {
      const content = messageContent(item)
      return { digest: toHex(content.digest), operation: 'signMessage', ...message(content) }
    }
    const separator = hash('domain_separator', item)
    const content = typedDataContent(separator, hash('hash_struct_message', item))
    return {
      digest: toHex(content.digest),
      operation: 'signTypedData',
      ...typedData(content, { domain_separator: separator }),
    }
  }

  function message(content: Content): Signable {
    return { kind: 'message', content, check: ({ held, caller }) => checkAddress(held, caller, messageFault) }
  }

  function typedData(content: Content, asked: AskedTypedData): Signable {
    const check = ({ held, caller }: SigningContext) =>
      checkAddress(held, caller, (relayer) => typedDataFault(relayer, asked))
    return { kind: 'typed_data', content, check }
  }

  function messageContent(request: SignMessageRequest): Content {
    const message = messageOf(request)
    return { digest: messageDigest(message), preimage: () => messagePreimage(message) }
  }

  function typedDataContent(separator: Uint8Array, structHash: Uint8Array): Content {
    return {
      digest: typedDataDigest(separator, structHash),
      preimage: () => typedDataPreimage(separator, structHash),
    }
  }

  /** A document that moves tokens counts against the limits of the relayer on the chain where it does. */
  function signatureCharge({ on_address }: SigningContext['held'], document: HashedTypedData): Charge | undefined {
    const account = on_address.find(({ chain_id }) => BigInt(chain_id) === document.chain_id)
    return account && { account, spending: signatureSpending(account.policies, document) }
  }

  /** The amounts and the highest possible fee of a transaction that the policies permit. Throws DomainError (403). */
  function judge(
    relayer: RelayerRow,
    { to, value, data, gas_price, gas_limit }: UnsignedTransaction,
  ): { judged: Judged; fee: bigint } {
    const amounts = { value: value.toString(), gas_price: gas_price.toString(), max_fee_per_gas: null }
    const judged: Judged = { to, data: data.toLowerCase(), ...amounts }
    checkPolicies(relayer, judged)
    const fee = gas_limit * gas_price
    checkFee(relayer, fee)
    return { judged, fee }
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
