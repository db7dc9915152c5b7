/** "transfer_id" is transferId. */
export const camel = (name = '') => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())

/** The group of a tag in the typed client: "API keys" is apiKeys. */
export const groupOf = (tag: string): string =>
  tag
    .split(/[ -]/)
    .map((word, index) =>
      index === 0 ? word.toLowerCase() : (word[0] ?? '').toUpperCase() + word.slice(1).toLowerCase(),
    )
    .join('')

/**
 * Without the word of the group: getApiKey is get, cancelPendingTransactions is cancelPending. The word stays where what is left would be
 * about another resource: getRelayerTransaction.
 */
export function nameOf(group: string, operationId: string): string {
  const plural = (group[0] ?? '').toUpperCase() + group.slice(1)
  const word = plural.replace(/s$/, '')
  if (new RegExp(`(?:Relayer|Pool)${word}`).test(operationId)) return operationId
  const name = operationId.replace(plural, '').replace(word, '')
  return name === '' ? operationId : name
}
