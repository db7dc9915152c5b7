import { errorOf } from '../domain/errors.ts'
import type { KeyBudget } from '../domain/policies/budgets.ts'
import type { ApiKeyRow } from '../domain/rows.ts'
import { GenerationCache } from '../lib/cache.ts'
import type { Store } from './store.ts'

const maxApiKeys = 1_000
/** Callers that are no API keys of the store. */
const withoutBudget: ReadonlySet<string> = new Set(['environment', 'service', 'command_line'])

/** The budgets of API keys, by the caller as the audit trail names it. */
export class Budgets {
  readonly #store: Pick<Store, 'apiKey' | 'generation'>
  readonly #cache = new GenerationCache<ApiKeyRow | undefined>(() => this.#store.generation(), maxApiKeys)

  constructor(store: Pick<Store, 'apiKey' | 'generation'>) {
    this.#store = store
  }

  /** Undefined: the caller has none, or the key was revoked. */
  async find(caller: string): Promise<KeyBudget | undefined> {
    return withoutBudget.has(caller) ? undefined : budgetOf(await this.#read(caller))
  }

  /** The budget of a caller that asks now; undefined: it has none. Throws DomainError (401) when its key was revoked. */
  async ofCaller(caller: string): Promise<KeyBudget | undefined> {
    if (withoutBudget.has(caller)) return undefined
    const apiKey = await this.#read(caller)
    if (!apiKey) throw errorOf('unauthorized', 'token', 'was revoked')
    return budgetOf(apiKey)
  }

  #read(id: string): Promise<ApiKeyRow | undefined> {
    return this.#cache.find(id, () => this.#store.apiKey(id))
  }
}

export const budgetOf = (apiKey: ApiKeyRow | undefined): KeyBudget | undefined =>
  apiKey?.budget ? { key_id: apiKey.id, rules: apiKey.budget } : undefined
