import { decodeRevert } from '../domain/decoding/decoded-call.ts'

export type RpcErrorKind =
  | 'already_known' // the node has these very bytes: success
  | 'nonce_too_low' // the nonce is used on chain, perhaps by these very bytes
  | 'nonce_too_high' // a gap before it; the node refuses to queue
  | 'replacement_underpriced' // another transaction with our nonce is in the pool and pays too much
  | 'underpriced' // fee below the base fee or the node's minimum
  | 'insufficient_funds'
  | 'gas_limit_too_low' // intrinsic gas, floor data gas
  | 'gas_limit_too_high' // exceeds the block's gas limit or a cap
  | 'fee_too_high' // refused by the node's fee cap, or tip above fee cap
  | 'reverted' // the execution reverted or halted (eth_estimateGas, eth_call)
  | 'pool_full' // the pool is full, or the account's share of it
  | 'rejected' // this transaction can never be accepted here
  | 'rate_limited'
  | 'unavailable' // syncing, timeout, internal error, no access
  | 'not_found' // the node does not have the block, state or transaction that was asked for
  | 'method_not_found'
  | 'unknown'

/** A JSON-RPC error object, unparsed. */
export interface RpcErrorObject {
  code?: number
  message?: string
  data?: unknown
}

// The first match decides, so specific patterns stand above general ones.
const texts: readonly (readonly [RpcErrorKind, RegExp])[] = [
  // First, because the text after a revert comes from the contract and may contain "nonce too low".
  ['reverted', /execution reverted|transaction reverted|reverted with|(?:^|; )revert(?:ed)?\b|vm execution error/i],
  ['reverted', /vm exception while processing transaction: revert|always failing transaction/i],
  // These contain "nonce too high" or "nonce too low" but are permanent, independent of the account's nonce.
  ['rejected', /nonce has max value|exceeds max nonce|nonce overflow|authority nonce too low/i],
  ['replacement_underpriced', /replacement transaction (?:is )?underpriced|to replace existing transaction/i],
  ['replacement_underpriced', /could not replace existing|replacementnotallowed/i],
  ['replacement_underpriced', /(?:tx|transaction) with same nonce already|not enough to bump transaction/i],
  ['replacement_underpriced', /toolowpriority|too low priority to replace|toocheaptoreplace/i],
  // Nethermind's OwnNonceAlreadyUsed means another transaction, so it is not a success.
  ['replacement_underpriced', /ownnoncealreadyused|another (?:tx|transaction) (?:with|which has the) same nonce/i],
  ['already_known', /(?<!block )already ?known|already ?imported|already_exists|\bknown transaction/i],
  ['already_known', /existing txn? with same hash|(?:tx|transaction) already (?:in mempool|exists)/i],
  ['already_known', /(?:tx|transaction) (?:already exist\b|with same hash already exists)/i],
  ['nonce_too_low', /nonce (?:\d{1,20} )?(?:is )?too low|oldnonce|invalid transaction nonce|pool\(stale\)/i],
  ['nonce_too_low', /too stale nonce|nonce is lower than account nonce|already in the blockchain/i],
  ['nonce_too_low', /invalidtransaction(?:\(|::)+(?:invalidtransaction::)?stale/i],
  ['nonce_too_high', /nonce (?:\d{1,20} )?(?:is )?too (?:high|far in future|distant)|noncegap|noncetoofarinfuture/i],
  // A full pool answers the third of these to a transaction whose predecessors it lacks: send the predecessors again.
  ['nonce_too_high', /gapped-nonce|delegation nonce gap|future transaction tries to replace pending/i],
  ['nonce_too_high', /notcurrentnoncefordelegation|invalid transaction with a lower nonce/i],
  ['nonce_too_high', /discarded due to in too distant future|nonce is higher than account nonce/i],
  ['nonce_too_high', /invalidtransaction(?:\(|::)+(?:invalidtransaction::)?future/i],
  ['insufficient_funds', /insufficient ?(?:sender )?(?:funds|balance)|insufficient maxfeepergas for sender/i],
  ['insufficient_funds', /(?:not|n't have) enough funds|exceeds (?:transaction sender )?account balance|outoffunds/i],
  ['insufficient_funds', /overdraft|overdraws from account|lack of funds/i],
  ['insufficient_funds', /out of balance, needs|balance is too low|balance < tx cost|sender account doesn't exist/i],
  ['insufficient_funds', /invalidtransaction(?:\(|::)+(?:invalidtransaction::)?payment|inability to pay some fees/i],
  // No gas limit is below 21,000, so a lower allowance results from the balance.
  ['insufficient_funds', /gas required exceeds allowance:? \(?(?:\d{1,4}|1\d{4}|20\d{3})\b/i],
  // Anvil also answers "intrinsic gas too high" when the cost exceeds the gas limit.
  ['gas_limit_too_low', /intrinsic ?gas(?! too high)|intrinsic gas too high -- (?:callgascost|gasfloor)/i],
  ['gas_limit_too_low', /floor data gas|requires at least \d{1,20} gas but got|not enough gas to cover minimal/i],
  ['gas_limit_too_low', /gas (?:cost|floor) (?:\(\d{1,20}\) )?exceeds the gas limit/i],
  ['gas_limit_too_low', /basic cost is above the gas limit|notenoughbasegas/i],
  ['gas_limit_too_high', /intrinsic gas too high|gas limit (?:is )?too high|gas limit reached|gas required exceeds/i],
  ['gas_limit_too_high', /block(?:'s)? gas limit|(?:current|max(?:imum)?)(?: (?:per-)?transaction)? gas limit/i],
  ['gas_limit_too_high', /gaslimitexceeded|txgaslimitcapexceeded|transaction gas cap|is greater than the cap/i],
  ['gas_limit_too_high', /transaction gas \d{1,20} exceeds the maximum|max gas per sec limit|exhaustsresources/i],
  ['fee_too_high', /exceeds the configured cap|fee ?cap exceeded|per gas (?:higher than|exceeds)/i],
  ['fee_too_high', /fee is greater than max fee|invalidmaxpriorityfeepergas|fee_per_gas. greater than/i],
  ['underpriced', /underpriced|fee ?too ?low|gas less than block|gas price (?:is )?(?:too low|less than)/i],
  ['underpriced', /below (?:the )?(?:chain )?minimum|below (?:configured|current)|too low for the next block/i],
  ['underpriced', /miner premium is negative/i],
  ['underpriced', /gas price (?:\d{1,30} less|lower) than|less than the minimum value|insufficient fees?\b(?! payer)/i],
  ['underpriced', /minimum global fee|lower than the tx basefee|invalid unit price|equal to basefee/i],
  ['pool_full', /(?:pool|queue) (?:is )?full|account limit exceeded|too many transactions in the queue|\bspammer\b/i],
  ['pool_full', /in-flight transaction limit|pool size constraints|delegation authority has pending/i],
  ['pool_full', /immediatelydropped|couldn't enter the pool because of the limit/i],
  // A transaction of another type, or a delegation, is pending for this account. The refusal ends when that is mined.
  ['pool_full', /already reserved|delegatorhaspendingtx|pendingtxsofconflictingtype|transaction type conflict/i],
  ['rejected', /invalid (?:sender|signature|transaction signature|transaction v, r, s|transaction type|rlp)/i],
  ['rejected', /(?:invalid|wrong) chain ?id|chain ?id (?:not supported|is required|mismatch)|for another chain/i],
  ['rejected', /replay-protected|invalidtx(?:chainid|signature|type)|failed ?to ?(?:recover|resolve) ?sender/i],
  ['rejected', /type not supported|unsupported transaction type|notsupportedtxtype|transaction type is not activated/i],
  ['rejected', /supported by the current hardfork|failed to decode (?:signed )?transaction|empty transaction data/i],
  [
    'rejected',
    /oversized data|(?:^|; )request too large(?:$|;)|(?:tx|transaction|initcode) (?:is )?too (?:large|big)|maxtxsizeexceeded|initcode size/i,
  ],
  ['rejected', /rlptoolong|\brlp: |typed transaction too short|negative value|not an eoa|senderiscontract/i],
  ['rejected', /gas ?uint(?:64 )?overflow|int256overflow|transaction cost overflow|transaction invalid/i],
  ['rejected', /not authorized to send|forbidden sender|not on the whitelist|senders with deployed code/i],
  ['rejected', /(?:^|; )(?:[a-z ]{1,40}: )?invalid(?:$|[,;])|marked the transaction as invalid/i],
  // Halts stand below the gas rows, because "out of gas: gas required exceeds ..." is a limit.
  ['reverted', /out ?of ?gas|invalid ?(?:fe)?opcode|stack ?(?:under|over)flow|bad ?instruction|invalid jump/i],
  ['reverted', /evm error|due to an exception|code size exceeded/i],
  // Limits on the result of one query. A slower rate would not help, so these are not rate limits despite the code -32005.
  ['unknown', /returned more than|block range|range limit|batch size/i],
  ['rate_limited', /rate.?limit|rate exceeded|too many requests?\b|request (?:count|limit) (?:exceeded|reached)/i],
  ['rate_limited', /compute units|capacity (?:limit|exceeded)|credits limited|quota exceeded/i],
  ['method_not_found', /does not exist\/is not avail|method (?:\S{1,60} )?(?:is )?not (?:found|supported|enabled)/i],
  ['method_not_found', /unsupported method|not implemented|supported by this endpoint|forwarding not configured/i],
  ['not_found', /indexing is in progress|(?:header|block|tx|transaction|receipt)(?: \S{1,70})? not found/i],
  ['not_found', /unknown block|missing trie node|historical state|pruned|unfinalized data|\d could not be found/i],
  ['not_found', /state (?:is )?(?:not |un)?available|block ?out ?of ?range|such an id doesn't exist yet/i],
  ['unavailable', /syncing|sync is still|not yet in sync/i],
  ['unavailable', /time(?:d )?-?out|deadline exceeded|context canceled|execution aborted|unable to complete/i],
  ['unavailable', /connection (?:refused|reset|closed)|trying to connect|unreachable|no such host|handler crashed/i],
  ['unavailable', /bad gateway|service unavailable|temporarily|sequencer|no backend is|internal [a-z -]{0,12}error/i],
  ['unavailable', /unauthorized|must be authenticated|invalid (?:api key|project id)/i],
]

// Codes that every node uses alike decide at once. The others differ between nodes (besu's -32005 is a gas limit, its -32001 a
// nonce), so they count only when the text matches nothing.
const certainCodes = new Map<unknown, RpcErrorKind>([
  [-32601, 'method_not_found'],
  [429, 'rate_limited'],
])
const likelyCodes = new Map<unknown, RpcErrorKind>([
  [3, 'reverted'],
  [-32005, 'rate_limited'], // EIP-1474: limit exceeded
  [-32001, 'not_found'], // EIP-1474: resource not found
  [-32002, 'unavailable'], // EIP-1474: resource unavailable
  [-32603, 'unavailable'], // JSON-RPC: internal error
  ...[500, 502, 503, 504].map((status) => [status, 'unavailable'] as const),
])

const notAboutCall: ReadonlySet<RpcErrorKind> = new Set([
  ...(['rate_limited', 'unavailable', 'not_found', 'method_not_found', 'unknown'] as const),
])

/** Whether the error is about the call itself, so that every node would give it. After any other error another node may succeed. */
export const isAboutCall = (kind: RpcErrorKind): boolean => !notAboutCall.has(kind)

const maxDepth = 4
const maxStrings = 16
const maxStringLength = 20_000
const maxReasonLength = 500
/** Of each string: 60 patterns are tried on it, for every answer of a batch. */
const maxClassifiedLength = 1_000

/** Cosmos chains name both nonces, and not which of them is lower. */
const mismatch =
  /invalid nonce; got (\d{1,20}), (?:should be )?expected (\d{1,20})|sequence mismatch, expected (\d{1,20}), got (\d{1,20})/i

function mismatchIn(text: string): RpcErrorKind | undefined {
  const [, got, expected, expectedFirst, gotLast] = mismatch.exec(text) ?? []
  const [given, wanted] = [got ?? gotLast, expected ?? expectedFirst]
  if (given === undefined || wanted === undefined) return undefined
  return BigInt(given) < BigInt(wanted) ? 'nonce_too_low' : 'nonce_too_high'
}

/** Classifies a node's error by its text, at any place in the error object, otherwise by its code. */
export function classifyRpcError(error: RpcErrorObject): RpcErrorKind {
  const certain = certainCodes.get(error.code)
  if (certain) return certain
  const text = stringsIn(error)
    .map((part) => part.slice(0, maxClassifiedLength))
    .join('\n')
  const kind = texts.find(([, pattern]) => pattern.test(text))?.[0]
  // After a revert the contract speaks.
  return (kind === 'reverted' ? kind : mismatchIn(text)) ?? kind ?? likelyCodes.get(error.code) ?? 'unknown'
}

/**
 * The revert reason in an error object or its data: the contract's text (Error(string)), the name of a panic, or a custom error as
 * selector and length. Printable, at most 500 characters. Undefined when there is none.
 */
export function revertReason(data: unknown): string | undefined {
  const strings = stringsIn(data)
  const found = hexIn(strings)
  return printable((found && decoded(found)) ?? told(strings) ?? (found && undecoded(found)) ?? '')
}

/** The revert data in lower case hex; undefined when the error has none. */
export const revertData = (error: RpcErrorObject): string | undefined => hexIn(stringsIn(error))

/** The revert data of a revert; null: it reverts without data; undefined: the error is no revert. */
export function revertDataOf(error: RpcErrorObject): string | null | undefined {
  if (classifyRpcError(error) !== 'reverted') return undefined
  const data = revertData(error)
  if (data !== undefined) return data
  return error.code === 3 || /revert/i.test(String(error.message ?? '')) ? null : undefined
}

const hexIn = (strings: string[]): string | undefined =>
  strings.flatMap((part) => hexPattern.exec(part)?.[1]?.toLowerCase() ?? []).find((hex) => hex !== '0x')

/** Whether an execution ran out of gas. A revert whose own text says so does not count. */
export const isOutOfGas = (error: RpcErrorObject): boolean =>
  /out ?of ?gas/i.test(String(error.message ?? '')) && !/execution reverted/i.test(String(error.message ?? ''))

// Proxies, Hardhat and MetaMask nest the node's error in `data`, others in `error` or `result`. These objects also contain
// transaction hashes, so only these keys are read. Data comes before the message, because it holds the contract's own bytes.
const keys = ['data', 'result', 'error', 'originalError', 'details', 'message'] as const

function stringsIn(value: unknown, depth = maxDepth): string[] {
  if (typeof value === 'string') return [value.slice(0, maxStringLength)]
  if (typeof value !== 'object' || value === null || depth === 0) return []
  return keys.flatMap((key) => stringsIn((value as Record<string, unknown>)[key], depth - 1)).slice(0, maxStrings)
}

// OpenEthereum and older Nethermind write "Reverted 0x..."; some write the bytes after "execution reverted: ".
const hexPattern = /^(?:(?:execution )?reverted:? )?(0x(?:[0-9a-f]{2})*)$/i

// Solidity, "Panic via assert and Error via require".
const panics = new Map([
  [0x00n, 'generic compiler panic'],
  [0x01n, 'assertion failed'],
  [0x11n, 'arithmetic overflow or underflow'],
  [0x12n, 'division or modulo by zero'],
  [0x21n, 'conversion to an enum out of range'],
  [0x22n, 'storage byte array wrongly encoded'],
  [0x31n, 'pop of an empty array'],
  [0x32n, 'array index out of bounds'],
  [0x41n, 'too much memory allocated'],
  [0x51n, 'call of a zero-initialized function'],
])

function decoded(hex: string): string | undefined {
  const revert = decodeRevert(hex)
  if (!revert) return undefined
  if ('error' in revert) return revert.error
  return `panic 0x${revert.panic.toString(16).padStart(2, '0')} (${panics.get(revert.panic) ?? 'no known code'})`
}

const undecoded = (hex: string): string =>
  hex.length % 64 === 10
    ? `unknown custom error ${hex.slice(0, 10)} (${(hex.length - 10) / 2} bytes of arguments)`
    : `${(hex.length - 2) / 2} bytes that are no error of a contract`

// The node's text, when the node knows the contract's errors by name. For an unknown custom error the bytes are better, because anvil
// prints them as characters.
function told(strings: string[]): string | undefined {
  const match = (part: string) =>
    /execution reverted: (?!custom error 0x|0x)(.+)/is.exec(part) ??
    /reverted with (?:reason string|custom error) '(.+)'/is.exec(part)
  return strings.flatMap((part) => match(part)?.[1] ?? [])[0]
}

function printable(text: string): string | undefined {
  const cut = text.length > maxReasonLength ? `${text.slice(0, maxReasonLength - 1)}…` : text
  // Cut first, because half a surrogate pair is unprintable too.
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ').trim() || undefined
}
