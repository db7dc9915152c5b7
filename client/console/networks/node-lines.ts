import type { PrivateMethod, PrivateRpcUrlInput, RpcUrlInput } from '../../index.ts'
import { FormError, linesOf } from '../data/form.ts'

const wordsByLine = (text: string) => linesOf(text).map((line) => line.split(/\s+/) as [string, ...string[]])

/** A node by line: its URL, and its weight if one follows. `field`: the one that has the text. */
export const nodesOf = (text: string, field = 'rpc_urls'): RpcUrlInput[] =>
  wordsByLine(text).map(([url, weight, ...more]) => {
    if (weight === undefined) return url
    if (!/^\d+$/.test(weight) || more.length > 0)
      throw new FormError(field, `After ${url}, a weight from 0 to 100 is expected.`)
    return { url, weight: Number(weight) }
  })

/** A private relay by line: its URL, then its method and the number of blocks after which it drops a transaction, each if it is there. */
export const relaysOf = (text: string): PrivateRpcUrlInput[] =>
  wordsByLine(text).map(([url, ...rules]) => {
    if (rules.length === 0) return url
    const method = rules.find((rule) => rule.startsWith('eth_'))
    const blocks = rules.find((rule) => /^\d+$/.test(rule))
    if (rules.some((rule) => rule !== method && rule !== blocks))
      throw new FormError(
        'private_rpc_urls',
        `After ${url}, a method (eth_sendPrivateTransaction) and a number of blocks are expected.`,
      )
    return {
      url,
      // The service checks the word, and names those that it knows.
      ...(method !== undefined && { method: method as PrivateMethod }),
      ...(blocks !== undefined && { drops_after_blocks: Number(blocks) }),
    }
  })
