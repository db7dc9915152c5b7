import type {
  Authorization,
  SignAuthorizationRequest,
  SignatureResult,
  SignedTransaction,
  SignMessageRequest,
  SignTypedDataHashesRequest,
  SignTypedDataRequest,
} from '../../../generated/openapi.ts'
import { parseUnsigned, type UnsignedTransaction } from '../../domain/decoding/transaction.ts'
import {
  messageDigest,
  messagePreimage,
  toHex,
  typedDataDigest,
  typedDataPreimage,
} from '../../domain/encoding/digest.ts'
import { authorizationDigest, authorizationPreimage } from '../../domain/encoding/envelope.ts'
import { type HashedTypedData, hashTypedData } from '../../domain/encoding/typed-data.ts'
import { badRequest, noBlobs, relayerOfMessageNotFound, wrongChainId } from '../../domain/errors.ts'
import {
  budgetOfSignature,
  checkBudget,
  checkBudgetOfMessage,
  checkBudgetOfSignature,
  uncountedError,
} from '../../domain/policies/budgets.ts'
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
import type { Account } from '../../domain/transaction-rows.ts'
import { readAddress } from '../../domain/values.ts'
import type { Signature } from '../../keys/signer.ts'
import type { SignedPayment } from '../../store/queries/signed-payments.ts'
import {
  type Charge,
  type Content,
  type Countable,
  count,
  rightsTo,
  type Signable,
  type SignatureAsker,
  type SignatureContext,
  type SigningRights,
  sign,
  signCounted,
} from './sign.ts'

export async function signMessage(
  context: SignatureContext,
  asker: SignatureAsker,
  body: SignMessageRequest,
): Promise<SignatureResult> {
  const signable = readMessage(body)
  const rights = await rightsTo(context, asker, relayerOfMessageNotFound)
  return signatureResult(await sign(context, asker, rights, signable))
}

export async function signTypedDataHashes(
  context: SignatureContext,
  asker: SignatureAsker,
  body: SignTypedDataHashesRequest,
): Promise<SignatureResult> {
  const rights = await rightsTo(context, asker)
  return signatureResult(await sign(context, asker, rights, readTypedData(body)))
}

export async function signTypedData(
  context: SignatureContext,
  asker: SignatureAsker,
  body: SignTypedDataRequest,
): Promise<SignatureResult> {
  const rights = await rightsTo(context, asker)
  return signatureResult(await signCounted(context, asker, rights, readDocument(body)))
}

/**
 * Signs a payment once: until it expires, a repetition gets the same document, and limits count no more for it. `documentOf`: by the end of
 * its time. Throws DomainError (422) for another payment with the same nonce.
 */
export async function signPayment(
  context: SignatureContext,
  asker: SignatureAsker,
  payment: SignedPayment,
  documentOf: (validBefore: number) => SignTypedDataRequest,
): Promise<{ document: SignTypedDataRequest; signature: SignatureResult }> {
  const rights = await rightsTo(context, asker)
  const counted = await count(context, asker, rights, { ...readDocument(documentOf(payment.valid_before)), payment })
  const document = documentOf(counted.valid_before ?? payment.valid_before)
  const countable = { ...readDocument(document), payment, counted }
  const signature = await signCounted(context, asker, await rightsTo(context, asker), countable)
  return { document, signature: signatureResult(signature) }
}

function readDocument(body: SignTypedDataRequest): Countable {
  const document = hashTypedData(body)
  const { domain_separator, struct_hash, chain_id } = document
  const unbound = typedData(domain_separator, struct_hash, { domain_separator, document })
  return {
    ...unbound,
    check(rights) {
      unbound.check(rights)
      const { relayer } = rights.held
      if (chain_id === undefined || chain_id === BigInt(relayer.chain_id)) return
      // A policy that allows exactly this domain takes precedence over its chain id.
      if (!isAllowedDomain(relayer.policies, domain_separator)) {
        throw badRequest(['domain', 'chainId'], `chain id ${wrongChainId(relayer.chain_id, chain_id)}`)
      }
    },
    checkBudget(budget, { held }) {
      const isAllowed = isAllowedDomain(held.relayer.policies, domain_separator)
      checkBudgetOfSignature(budget, networkOfDocument(held, document), document, isAllowed)
    },
    chargeOf: (rights) => signatureCharge(rights, document),
  }
}

export async function signAuthorization(
  context: SignatureContext,
  asker: SignatureAsker,
  body: SignAuthorizationRequest,
): Promise<Authorization> {
  const rights = await rightsTo(context, asker)
  const address = readAddress(body.address, ['address'])
  const authorization = { chain_id: rights.held.relayer.chain_id, address, nonce: body.nonce }
  const digest = authorizationDigest(authorization)
  const signature = await sign(context, asker, rights, {
    kind: 'authorization',
    content: { digest, preimage: () => authorizationPreimage(authorization) },
    check: ({ held }) => checkAuthorization(held.relayer.policies, address),
    checkBudget() {
      throw uncountedError('an authorization (EIP-7702)')
    },
  })
  const { r, s, v } = signatureResult(signature)
  return { ...authorization, r, s, y_parity: v - 27 }
}

const place = ['unsigned_transaction']

export async function signTransaction(
  context: SignatureContext,
  asker: SignatureAsker,
  { unsigned_transaction }: { unsigned_transaction: string },
): Promise<SignedTransaction> {
  const rights = await rightsTo(context, asker)
  const { relayer } = rights.held
  checkSignTransaction(relayer.policies)
  const transaction = parse(unsigned_transaction)
  if (transaction.chain_id !== BigInt(relayer.chain_id)) {
    throw badRequest(place, `chain id ${wrongChainId(relayer.chain_id, transaction.chain_id)}`)
  }
  asker.auditEntry.subject = toHex(transaction.digest)
  const { judged, fee } = judgeTransaction(relayer, transaction)
  const signature = await signCounted(context, asker, rights, {
    kind: 'transaction',
    content: transaction,
    check: ({ held }) => {
      checkSignTransaction(held.relayer.policies)
      judgeTransaction(held.relayer, transaction)
    },
    checkBudget: (budget, { held }) => checkBudget(budget, held.relayer, judged),
    chargeOf: ({ held, caller: { budget } }) => ({
      account: accountOf(held.relayer),
      spending: spendingOf(held.relayer, judged, { fee, budget }),
    }),
  })
  const { raw, hash, signature: told } = transaction.finish(signature)
  return { signed_transaction: toHex(raw), hash, signature: told }
}

/** The signature of a text, or of bytes. */
export function readMessage({ message, message_hex }: SignMessageRequest): Signable {
  const text = message === undefined ? Buffer.from(message_hex.slice(2), 'hex') : message
  const content: Content = { digest: messageDigest(text), preimage: () => messagePreimage(text) }
  return {
    kind: 'message',
    content,
    check: ({ held, caller }) => checkAddress(held, caller, messageFault),
    checkBudget: () => checkBudgetOfMessage(text),
  }
}

/** The signature of hashed typed data. Throws DomainError (400). */
export function readTypedData(body: SignTypedDataHashesRequest): Signable {
  const separator = hash('domain_separator', body)
  return typedData(separator, hash('hash_struct_message', body), { domain_separator: separator })
}

function typedData(separator: Uint8Array, structHash: Uint8Array, asked: AskedTypedData): Signable {
  const content: Content = {
    digest: typedDataDigest(separator, structHash),
    preimage: () => typedDataPreimage(separator, structHash),
  }
  const check = ({ held, caller }: SigningRights) =>
    checkAddress(held, caller, (relayer) => typedDataFault(relayer, asked))
  const checkBudget = () => {
    throw uncountedError('typed data from its hashes')
  }
  return { kind: 'typed_data', content, check, checkBudget }
}

/** 32 bytes from 64 hex digits, with or without 0x. */
function hash<Name extends string>(name: Name, body: Record<Name, string>): Uint8Array {
  const text = body[name]
  const bytes = Buffer.from(text.startsWith('0x') ? text.slice(2) : text, 'hex')
  // The contract's pattern requires 64 digits; this guards against a change of the pattern.
  if (bytes.length !== 32) throw badRequest([name], 'must be 32 bytes: 64 hex digits, with or without 0x')
  return bytes
}

export function signatureResult({ rs, recovery }: Signature): SignatureResult {
  const hex = toHex(rs)
  const v = 27 + recovery
  return { r: hex.slice(0, 66), s: `0x${hex.slice(66)}`, sig: `${hex}${v.toString(16)}`, v }
}

/** A document that moves tokens counts against the limits of the relayer on the chain where it does, and the budget of the caller. */
function signatureCharge({ held, caller }: SigningRights, document: HashedTypedData): Charge {
  const account = relayerOn(held, document)
  const ofKey = budgetOfSignature(caller.budget, networkOfDocument(held, document), document)
  const spending = account ? signatureSpending(account.policies, document) : []
  return { account: accountOf(account ?? held.relayer), spending: [...spending, ...ofKey] }
}

const accountOf = ({ chain_id, address }: RelayerRow): Account => ({ chain_id, address })

/** The relayer with the same address on the chain of a document; undefined: there is none. */
const relayerOn = ({ on_address }: SigningRights['held'], document: HashedTypedData): RelayerRow | undefined =>
  on_address.find(({ chain_id }) => BigInt(chain_id) === document.chain_id)

/** What decides how a budget counts a document. */
const networkOfDocument = (
  held: SigningRights['held'],
  document: HashedTypedData,
): Pick<RelayerRow, 'policies' | 'coin_token'> =>
  relayerOn(held, document) ?? { policies: held.relayer.policies, coin_token: null }

/** The amounts and the highest possible fee of a transaction that the policies permit. Throws DomainError (403). */
function judgeTransaction(
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
    throw badRequest(place, hex.startsWith('0x03') ? noBlobs : wanted)
  }
}
