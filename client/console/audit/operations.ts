const maxLetters = 64
/** Operations that have another name on the buttons of the console. */
const texts: Record<string, string> = {
  createAbi: 'Add ABI',
  deleteApiKey: 'Revoke API key',
  deleteRelayerFunding: 'Stop refills',
  deletePoolFunding: 'Stop refills of a pool',
  reconcileRelayerNonce: 'Repair nonces',
  acknowledgeExternalTransactions: 'Mark as compared',
  updateProblem: 'Acknowledge problem',
  replaceRelayerFunding: 'Set up refills',
  replacePoolFunding: 'Set up refills of a pool',
  cancelPendingTransactions: 'Cancel all unfinished',
}

/** The id of an operation in words, as its button says: `createApiKey` is `Create API key`. */
export function operationText(id: string): string {
  const words = id.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  const text = words.replace(/^update\b/, 'edit').replaceAll(/\b(?:api|abi|rpc)(?=s?\b)/g, (name) => name.toUpperCase())
  return texts[id] ?? `${text[0]?.toUpperCase()}${text.slice(1)}`
}

/** What the service finds operations by, of what a reader typed: `edit relayer` is `updaterelayer`. */
export function operationOf(typed: string): string {
  const letters = lettersOf(typed)
  const named = Object.entries(texts).find(([, text]) => lettersOf(text) === letters)
  return named?.[0] ?? letters.replace(/^edit/, 'update').slice(0, maxLetters)
}

const lettersOf = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, '')
