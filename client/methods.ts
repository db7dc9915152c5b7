import type { Transaction } from '../generated/client.ts'
import { type GeneratedMethods, methods } from '../generated/client-methods.ts'
import { type ApiPromise, apiPromise, type CallOptions } from './call.ts'
import type { ClientByPath, Described, MadeFrom, Once, Send } from './contract-types.ts'
import { ifMatch } from './revision.ts'
import { type WaitOptions, waitForTransaction } from './transactions.ts'

/**
 * The operations by name. Each resolves to the member `data` of the answer; a list is iterated page by page. What takes an
 * Idempotency-Key (`transactions.send`) makes one, and is repeated under it: nothing is sent twice.
 */
export interface NamedMethods extends Omit<GeneratedMethods, 'transactions'> {
  transactions: GeneratedMethods['transactions'] & {
    /** Follows a transaction, also when it is moved, until it is mined or confirmed, or ends otherwise. Check its `status`. */
    wait(relayerId: string | null, transactionId: string, options?: WaitOptions): Promise<Transaction>
  }
}

export function namedMethods(client: ClientByPath, send: Send): NamedMethods {
  const byGroup = Object.entries<Record<string, Described>>(methods).map(([group, members]) => {
    const named = Object.entries(members).map(([name, described]) => [
      name,
      byName(client, send, { place: `${group}.${name}`, described, others: members }),
    ])
    return [group, Object.fromEntries(named)]
  })
  const named = Object.fromEntries(byGroup) as NamedMethods
  named.transactions.wait = async (relayerId, transactionId, options) => {
    if (!isId(transactionId)) throw noId('transactions.wait', 'transaction_id', transactionId)
    return waitForTransaction(client, relayerId, transactionId, options)
  }
  return named
}

interface AnyOptions extends Once, MadeFrom, CallOptions {}

interface Named {
  /** `transactions.list` */
  place: string
  described: Described
  /** The operations of the group. */
  others: Record<string, Described>
}

/** As the operation itself fails: a list when it is called, others by their promise. */
function refuse(form: Described[2], error: Error): ApiPromise<never> {
  if (form === 'list') throw error
  return apiPromise(Promise.reject(error))
}

/** In JavaScript no type refuses an id in the place of the options. */
function wrongArgument(place: string, given: unknown, [, path, form]: Described, others: Named['others']): TypeError {
  const last = (path: string) => path.replace(/\/$/, '').split('/').at(-1)
  const [group = ''] = place.split('.')
  const wanted = Object.entries(others).find(
    ([, [, other, otherForm]]) => other.includes('{') && otherForm === form && last(other) === last(path),
  )
  const hint = wanted ? `; ${group}.${wanted[0]} takes an id` : ''
  return new TypeError(`The options of ${place} must be an object; they are ${JSON.stringify(given)}${hint}`)
}

const isId = (value: unknown): boolean => (typeof value === 'string' && value !== '') || typeof value === 'number'

/** In JavaScript no type refuses a body in the place of an id. */
const noId = (place: string, name: string, given: unknown): TypeError =>
  new TypeError(`${place} needs ${name}, a text that is not empty; it is ${given === null ? 'null' : typeof given}`)

/** The arguments: the parameters of the path in their order, the body where there is one, and options. */
function byName(client: ClientByPath, send: Send, { place, described, others }: Named) {
  const [method, path, form] = described
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  const hasBody = form === 'body' || form === 'once'
  const isOnce = form === 'once' || form === 'once without body'

  return (...values: unknown[]) => {
    const missing = names.find((_, index) => !isId(values[index]))
    if (missing !== undefined) return refuse(form, noId(place, missing, values[names.indexOf(missing)]))
    const inPath = Object.fromEntries(names.map((name, index) => [name, values[index] as string]))
    const options = (values[names.length + (hasBody ? 1 : 0)] ?? {}) as AnyOptions
    if (typeof options !== 'object') return refuse(form, wrongArgument(place, options, described, others))
    const { idempotencyKey = crypto.randomUUID(), revision, signal, timeoutMs, attemptTimeoutMs, ...query } = options
    const input = {
      path: inPath,
      query,
      header: {
        ...(isOnce && { 'Idempotency-Key': idempotencyKey }),
        ...(revision !== undefined && ifMatch(revision)),
      },
      ...(hasBody && { body: values[names.length] }),
      ...(signal && { signal }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(attemptTimeoutMs !== undefined && { attemptTimeoutMs }),
    }
    if (form === 'list') return client.all(path as never, input as never)
    const answered = send(method, path, input, isOnce)
    // An answer of x402 has no envelope.
    return apiPromise(answered.then(({ data, ...others }) => ({ ...others, data: 'data' in data ? data.data : data })))
  }
}
