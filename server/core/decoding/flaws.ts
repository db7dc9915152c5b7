import { readSigned } from './signed-transaction.ts'

/** What nodes take as one transaction (geth's txMaxSize, which the other clients follow). No rule of a chain is known by heart: forks change them. */
const max_bytes = 128 * 1024

/** Why no node can accept these signed bytes, derived from the bytes alone; undefined when nothing is wrong with them. */
export const flawOf = (raw: Uint8Array): string | undefined =>
  raw.length > max_bytes ? `it has ${raw.length} bytes, and nodes accept at most ${max_bytes}` : undefined

/** What signed bytes prove against a node's refusal; undefined when the refusal is not about the signature or the chain id. */
export function contradictionOf(refusal: string, raw: Uint8Array): string | undefined {
  const isAboutSender = /sender|signature/i.test(refusal)
  const isAboutChain = /chain ?id|another chain|replay-protected/i.test(refusal)
  if (!isAboutSender && !isAboutChain) return undefined
  const { recover, chain_id } = readSigned(raw)
  return isAboutSender ? `the signature recovers to ${recover()}` : `it is signed for chain ${chain_id}`
}
