import type { Network, Submission, SubmissionInput, Transaction } from '../../generated/openapi.ts'
import type { Intent } from './decide.ts'
import { badRequest, conflict } from './errors.ts'
import type { Proof } from './proof.ts'

/** How a transaction that is not public from the beginning reaches the chain. Null in a row: public from the beginning. */
export interface PrivateSubmission {
  mode: 'public' | 'private' | 'private_then_public'
  after_blocks: number | null
  /** The proven height from which `after_blocks` counts; null: not proven yet. */
  from_block: number | null
  /** When its bytes were released to the public nodes; null: they are private. */
  public_since: string | null
  /** Only its cancellation is released. */
  is_original_private?: true
}

/** Whether only private relays may have its bytes and its hash. */
export const isPrivate = ({ submission }: { submission: PrivateSubmission | null }): boolean =>
  submission !== null && submission.public_since === null

/** The submission of a private transaction whose caller releases its bytes. `public_since`: null: those that are signed next. */
const released = (before: PrivateSubmission, publicSince: string | null): PrivateSubmission => ({
  ...before,
  mode: 'public',
  after_blocks: null,
  public_since: publicSince,
})

/**
 * Of a transaction that is withdrawn. Its cancellation says nothing of what it cancels, and is released as soon as it is signed; the bytes
 * that it replaces stay with the relays, and their hashes too. Null: it is public.
 */
export function releasedCancellation(
  row: { submission: PrivateSubmission | null },
  signedAt: number | undefined,
): PrivateSubmission | null {
  if (row.submission === null || !isPrivate(row)) return null
  const publicSince = signedAt === undefined ? null : new Date(signedAt).toISOString()
  return { ...released(row.submission, publicSince), is_original_private: true }
}

/**
 * Of a transaction whose caller releases what is signed, or is signed next. `newest`: the purpose of what is broadcast; undefined: it is
 * signed first. Null: nothing is left to release.
 */
export function releasedSubmission(
  row: { intent: Intent; submission: PrivateSubmission | null },
  newest: 'send' | 'cancel' | undefined,
  now: number,
): PrivateSubmission | null {
  if (row.submission === null || !isPrivate(row)) return null
  if (row.intent === 'send') return released(row.submission, new Date(now).toISOString())
  if (newest !== 'cancel' && isReleasedWhenSigned(row)) return null
  return releasedCancellation(row, newest === 'cancel' ? now : undefined)
}

/** Whether its cancellation goes to the public nodes as soon as it is signed. */
export const isReleasedWhenSigned = (row: { submission: PrivateSubmission | null }): boolean =>
  isPrivate(row) && row.submission?.mode === 'public'

/** Whether a node must not be asked for its hash: nobody but private relays knows of it. */
export const isSecret = (row: { submission: PrivateSubmission | null; block_hash: string | null }): boolean =>
  isPrivate(row) && row.block_hash === null

/** Whether nodes may be asked for its hash: it is no secret, or more than half of them count its nonce as used. */
export const mayAskFor = (
  row: { submission: PrivateSubmission | null; block_hash: string | null; nonce: number | null },
  counted: Proof<{ at_least: number }> | undefined,
): boolean => !isSecret(row) || (counted !== undefined && row.nonce !== null && row.nonce < counted.fact.at_least)

/** The same for one of its hashes: of a released cancellation only its newest is known to be public. */
export const isSecretOf = (
  row: { submission: PrivateSubmission | null; block_hash: string | null; hash: string | null },
  hash: string,
): boolean =>
  isSecret(row) || (row.submission?.is_original_private === true && row.block_hash === null && row.hash !== hash)

/** Checks a request's or a network's submission. Null: public. Throws DomainError (400). */
export function readSubmission(
  { mode, after_blocks = null }: SubmissionInput | Submission,
  { private_rpc_urls }: Pick<Network, 'private_rpc_urls'>,
): PrivateSubmission | null {
  if (mode === 'public') return null
  if (private_rpc_urls.length === 0)
    throw badRequest(['submission', 'mode'], 'must be public: the network has no private_rpc_urls')
  return { mode, after_blocks, from_block: null, public_since: null }
}

/** As the contract shows it. */
export function shownSubmission(submission: PrivateSubmission | null): Transaction['submission'] {
  if (submission === null) return null
  const { mode, after_blocks, public_since } = submission
  return { mode, after_blocks, public_since }
}

/**
 * The submission of a transaction that is replaced. `asked`: undefined: the request gives none. `isSigned`: a relay may have its bytes.
 * Throws DomainError (409): what public nodes have seen cannot become private.
 */
export function replacedSubmission(
  row: { submission: PrivateSubmission | null },
  asked: PrivateSubmission | null | undefined,
  { isSigned, now }: { isSigned: boolean; now: number },
): PrivateSubmission | null {
  const before = row.submission
  if (asked === undefined || (asked === null && before === null)) return before
  if (!isSigned) return asked
  if (!isPrivate(row)) {
    if (asked === null) return before
    throw conflict('invalid_state', ['submission', 'mode'], 'the transaction is public already, and stays public')
  }
  return asked === null
    ? released(before as PrivateSubmission, new Date(now).toISOString())
    : { ...asked, from_block: before?.from_block ?? null }
}

/** Whether the height of the chain decides its next step. `head`: by one node, which is a hint. */
export const isDueToPublish = (row: { submission: PrivateSubmission | null }, head: number): boolean => {
  const { submission } = row
  if (submission?.mode !== 'private_then_public' || !isPrivate(row)) return false
  const { from_block, after_blocks } = submission
  return from_block === null || head >= from_block + (after_blocks as number)
}

/** The step that a proven height allows: the count begins, or the bytes are released. Undefined: none yet. */
export function afterHead(
  submission: PrivateSubmission,
  { fact: { head } }: Proof<{ head: number }>,
  now: number,
): PrivateSubmission | undefined {
  const { from_block, after_blocks } = submission
  if (from_block === null) return { ...submission, from_block: head }
  if (head < from_block + (after_blocks as number)) return undefined
  return { ...submission, public_since: new Date(now).toISOString() }
}

/** What a request asks for to get this one. */
export function askedSubmission(submission: PrivateSubmission | null): SubmissionInput {
  if (submission === null || submission.public_since !== null) return { mode: 'public' }
  const { after_blocks } = submission
  return after_blocks === null ? { mode: 'private' } : { mode: 'private_then_public', after_blocks }
}
