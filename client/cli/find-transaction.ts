import type { Transaction } from '../../generated/client.ts'
import { RelayerError } from '../error.ts'
import type { Context } from './context.ts'
import { CommandError, exitCodes } from './exit-codes.ts'

const onePath = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const hashForm = /^0x[0-9a-fA-F]{64}$/

/**
 * The transaction with this id, or with this hash at any of its prices: of the relayer that is named, or else of any that the API key
 * sees.
 */
export async function findTransaction(world: Context, name: string): Promise<Transaction> {
  if (name.startsWith('0x') && !hashForm.test(name))
    throw new CommandError(
      `A transaction is named by its id, or by a hash of 0x and 64 hexadecimal digits; it is ${name}`,
    )
  if (!name.startsWith('0x')) return withId(world, name)
  const found = await withHash(world, name)
  if (found) return found
  throw notSeen(name)
}

const notSeen = (name: string, why = '') =>
  new CommandError(`There is no transaction ${name} that the API key may see${why}`, exitCodes.not_found)

async function withHash({ client, relayer_id }: Context, hash: string): Promise<Transaction | undefined> {
  const { data } =
    relayer_id === undefined
      ? await client.get('/api/v1/transactions', { query: { hash } })
      : await client.get('/api/v1/relayers/{relayer_id}/transactions/', { path: { relayer_id }, query: { hash } })
  return data[0]
}

async function withId({ client, relayer_id }: Context, transactionId: string): Promise<Transaction> {
  if (relayer_id !== undefined)
    return (await client.get(onePath, { path: { relayer_id, transaction_id: transactionId } })).data
  try {
    return await client.transactions.get(transactionId)
  } catch (error) {
    if (!(error instanceof RelayerError) || error.status !== 404) throw error
    const [where] = error.details ?? []
    throw notSeen(transactionId, where && `: ${where.message}`)
  }
}
