import { createHash } from 'node:crypto'
import * as v from 'valibot'
import type { Facilitator } from '../../generated/openapi.ts'
import { type Deployment, deployAndCall, multicall, readPaymentSignature } from './decoding/payment-signature.ts'
import { word } from './encoding/contract-data.ts'
import { typedDataDigest } from './encoding/digest.ts'
import { hashTypedData } from './encoding/typed-data.ts'
import { DomainError } from './errors.ts'

/** What a facilitator settles. Addresses in lower case, amounts as decimal strings. */
export type FacilitatorRules = Pick<
  Facilitator,
  'assets' | 'pay_to' | 'max_fee_per_payment' | 'max_fee_per_day' | 'wait_seconds'
>

/**
 * An authorization of EIP-3009, in lower case. `id`: equal payloads are one payment. `nonce`: 32 bytes. Times in seconds since the Unix
 * epoch.
 */
export interface Payment {
  id: string
  asset: string
  payer: string
  pay_to: string
  amount: string
  nonce: string
  valid_after: bigint
  valid_before: bigint
  /** What the payer signed (EIP-712). */
  digest: Buffer
  signature: string
  deployment: Deployment | undefined
  /** The request, whose rules are checked (ruleAgainst). */
  asked: Request
}

/** Why a payment is not settled. `reason`: the words of @x402/evm, where it has one. */
export interface PaymentRefusal {
  reason: string
  message?: string
  payer?: string
}

/** A payment as its row has it, beside the state of the facilitator. */
export interface NewPayment extends Pick<Payment, 'id' | 'asset' | 'payer' | 'pay_to' | 'amount' | 'nonce'> {
  facilitator_row_id: number
  facilitator_id: string
  valid_before: string
}

const address = v.pipe(v.string(), v.regex(/^0x[0-9a-f]{40}$/i), v.toLowerCase())
const quantity = v.pipe(v.string(), v.regex(/^[0-9]{1,78}$/))
const text = v.pipe(v.string(), v.maxLength(200))
/** A signature of a contract may name its keys, and a wrapped one what makes the contract (ERC-6492). */
const maxSignatureDigits = 16_384
const requirementsSchema = v.object({
  scheme: text,
  network: text,
  amount: quantity,
  asset: address,
  payTo: address,
  extra: v.nullish(v.object({ name: v.optional(text), version: v.optional(text) })),
})
const requestSchema = v.object({
  paymentPayload: v.object({
    x402Version: v.number(),
    accepted: requirementsSchema,
    payload: v.object({
      signature: v.pipe(
        v.string(),
        v.maxLength(2 + maxSignatureDigits),
        v.regex(/^0x(?:[0-9a-f]{2})+$/i),
        v.toLowerCase(),
      ),
      authorization: v.object({
        from: address,
        to: address,
        value: quantity,
        validAfter: quantity,
        validBefore: quantity,
        nonce: v.pipe(v.string(), v.regex(/^0x[0-9a-f]{64}$/i), v.toLowerCase()),
      }),
    }),
  }),
  paymentRequirements: requirementsSchema,
})
type Request = v.InferOutput<typeof requestSchema>

export const networkOf = (chainId: number): string => `eip155:${chainId}`

/** Reads a request of x402 version 2. What the rules and the time say of it is asked apart: a known payment is answered by its row. */
export function readPayment(chainId: number, body: object): Payment | PaymentRefusal {
  const { paymentPayload } = body as { paymentPayload?: { x402Version?: unknown; accepted?: { scheme?: unknown } } }
  if (paymentPayload?.x402Version !== 2) return { reason: 'invalid_x402_version' }
  if (paymentPayload.accepted?.scheme !== 'exact') return { reason: 'unsupported_scheme' }
  const read = v.safeParse(requestSchema, body)
  if (!read.success) return { reason: 'invalid_payload', message: read.issues[0].message.slice(0, 500) }
  return paymentIn(read.output, chainId) ?? { reason: 'invalid_payload' }
}

const prefix = 'invalid_exact_evm'

/** The first rule of the facilitator that the payment breaks. */
export function ruleAgainst(
  { assets, pay_to, chain_id }: Pick<FacilitatorRules, 'assets' | 'pay_to'> & { chain_id: number },
  { asked, payer }: Payment,
): PaymentRefusal | undefined {
  const { paymentPayload, paymentRequirements: wanted } = asked
  const { accepted, payload } = paymentPayload
  const { authorization } = payload
  const listed = assets.find((one) => one.asset === wanted.asset)
  const isAccepted = (['scheme', 'amount', 'asset', 'payTo'] as const).every((name) => accepted[name] === wanted[name])
  const refuse = (reason: string, message?: string) => ({ reason, payer, ...(message !== undefined && { message }) })
  if (wanted.scheme !== 'exact') return refuse('unsupported_scheme')
  if (wanted.network !== networkOf(chain_id) || accepted.network !== wanted.network)
    return refuse(`${prefix}_network_mismatch`)
  if (!wanted.extra?.name || !wanted.extra.version) return refuse(`${prefix}_missing_eip712_domain`)
  if (!listed) return refuse('asset_not_accepted', 'the facilitator does not list this asset')
  if (wanted.payTo !== pay_to || authorization.to !== pay_to) return refuse(`${prefix}_recipient_mismatch`)
  if (BigInt(authorization.value) !== BigInt(wanted.amount))
    return refuse(`${prefix}_payload_authorization_value_mismatch`)
  if (BigInt(wanted.amount) > BigInt(listed.max_amount_per_payment))
    return refuse('amount_too_large', `a payment may be at most ${listed.max_amount_per_payment}`)
  return isAccepted ? undefined : refuse('accepted_mismatch', 'accepted and paymentRequirements differ')
}

/** A block may be this much later, in seconds: as @x402/evm has it. */
const leastLeftS = 6n

/** `now`: milliseconds since the Unix epoch. */
export function timeAgainst({ valid_after, valid_before, payer }: Payment, now: number): PaymentRefusal | undefined {
  const nowS = BigInt(Math.floor(now / 1_000))
  if (valid_before < nowS + leastLeftS) return { reason: reasons.expired, payer }
  return valid_after > nowS ? { reason: `${prefix}_payload_authorization_valid_after`, payer } : undefined
}

export const reasons = {
  pending: 'settlement_pending',
  expired: `${prefix}_payload_authorization_valid_before`,
  nonceUsed: `${prefix}_nonce_already_used`,
  signature: `${prefix}_signature`,
  notSupported: `${prefix}_eip3009_not_supported`,
  balance: `${prefix}_insufficient_balance`,
  simulation: `${prefix}_transaction_simulation_failed`,
  failed: `${prefix}_transaction_failed`,
  budget: 'budget_used_up',
  maxFee: 'max_fee_exceeded',
} as const

export const authorizationTypes = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
}

/** Undefined: it is no authorization that somebody can have signed. */
function paymentIn(asked: Request, chainId: number): Payment | undefined {
  const { paymentPayload, paymentRequirements } = asked
  const { payload } = paymentPayload
  const { authorization } = payload
  const { asset, extra } = paymentRequirements
  const read = readPaymentSignature(payload.signature)
  if (!read) return undefined
  const domain = { name: extra?.name ?? '', version: extra?.version ?? '', chainId, verifyingContract: asset }
  const document = { domain, types: authorizationTypes, primaryType: 'TransferWithAuthorization' }
  try {
    const { domain_separator, struct_hash } = hashTypedData({ ...document, message: authorization })
    const digest = typedDataDigest(domain_separator, struct_hash)
    return {
      id: `0x${createHash('sha256').update(digest).update(payload.signature).digest('hex')}`,
      ...{ asset, payer: authorization.from, pay_to: authorization.to, amount: `${BigInt(authorization.value)}` },
      nonce: authorization.nonce,
      valid_after: BigInt(authorization.validAfter),
      valid_before: BigInt(authorization.validBefore),
      ...{ digest, ...read, asked },
    }
  } catch (error) {
    if (error instanceof DomainError) return undefined
    throw error
  }
}

/** The parts of a signature by a key; undefined: it is another one. */
export function ofKey(signature: string): { rs: Buffer; recovery: number } | undefined {
  const bytes = Buffer.from(signature.slice(2), 'hex')
  const last = bytes[64] ?? 0
  const recovery = last >= 27 ? last - 27 : last
  return bytes.length === 65 && recovery <= 1 ? { rs: bytes.subarray(0, 64), recovery } : undefined
}

/** The end of the year 9999, in seconds since the Unix epoch: no later time is one in RFC 3339. */
const lastS = 253_402_300_799n

/** The end of its authorization, in RFC 3339. */
export const endOf = ({ valid_before }: Payment): string =>
  new Date(Number(valid_before < lastS ? valid_before : lastS) * 1_000).toISOString()

/** The call that carries it out. A payer without an account gets one in the same transaction. */
export function transferOf(payment: Payment): { to: string; data: string } {
  const { asset, payer, pay_to, amount, valid_after, valid_before, nonce, signature, deployment } = payment
  const values = [payer, pay_to, BigInt(amount), valid_after, valid_before, nonce].map(word).join('')
  const key = ofKey(signature)
  const length = (signature.length - 2) / 2
  // transferWithAuthorization with v, r and s, which every token of EIP-3009 has, or with bytes, for contracts.
  const data = key
    ? `0xe3ee160e${values}${word(27 + key.recovery)}${key.rs.toString('hex')}`
    : `0xcf092995${values}${word(7 * 32)}${word(length)}${signature.slice(2).padEnd(Math.ceil(length / 32) * 64, '0')}`
  return deployment ? { to: multicall, data: deployAndCall(deployment, { to: asset, data }) } : { to: asset, data }
}

/** Only one unfinished transaction of a chain may use an authorization, whichever facilitator was asked. */
export const exclusiveKeyOfPayment = ({ asset, payer, nonce }: Payment): string => `payment ${asset} ${payer} ${nonce}`

/** The place under which the budget of a facilitator counts. */
export const facilitatorBudget = ({
  row_id,
  chain_id,
  max_fee_per_day,
}: {
  row_id: number
  chain_id: number
  max_fee_per_day: string
}) => ({ chain_id, holder: `facilitator ${row_id}`, asset: 'fee', limit: max_fee_per_day })
