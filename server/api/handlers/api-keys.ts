import type { GrantedScopes } from '../../../generated/openapi.ts'
import { deleted, type Handlers, page } from '../../domain/operation.ts'
import {
  createApiKey,
  getBudgetUsage,
  revokeApiKey,
  rotateApiKey,
  showApiKey,
  updateApiKey,
} from '../../services/api-keys.ts'
import type { ServicesContext } from '../../services/context.ts'
import { budgetOf } from '../../store/budgets.ts'

const scopes: GrantedScopes = ['sign', 'send', 'read', 'notifications', 'manage', 'relay', 'settle']

export const apiKeys = (context: Pick<ServicesContext, 'store' | 'makeId' | 'now'>) =>
  ({
    createApiKey: ({ body, auditEntry }) => createApiKey(context, body, auditEntry),

    listApiKeys: ({ query }) => page(query, context.store.listApiKeys, showApiKey),

    async getApiKey({ path }) {
      const apiKey = await context.store.getApiKey(path.api_key_id)
      const budget = budgetOf(apiKey)
      const budgetUsage = budget ? await getBudgetUsage(context, budget) : null
      return apiKey && { ...showApiKey(apiKey), budget_usage: budgetUsage }
    },

    updateApiKey: ({ path, body, auditEntry, ifMatch }) =>
      updateApiKey(context, path.api_key_id, body, { auditEntry, ifMatch }),

    async deleteApiKey({ path, auditEntry, ifMatch }) {
      await revokeApiKey(context, path.api_key_id, { auditEntry, ifMatch })
      return deleted(path.api_key_id)
    },

    rotateApiKey: ({ path, body, auditEntry }) => rotateApiKey(context, path.api_key_id, body, auditEntry),

    /** The rights of the API key that asks. */
    async getOwnApiKey({ caller: { id, roles, relayer_ids, pool_ids, budget } }) {
      const apiKey = await context.store.getApiKey(id)
      return {
        id,
        name: apiKey?.name ?? null,
        scopes: scopes.filter((scope) => roles.has(scope)),
        relayer_ids: relayer_ids === undefined ? null : [...relayer_ids],
        pool_ids: [...pool_ids],
        budget_usage: budget ? await getBudgetUsage(context, budget) : null,
        may_administer: roles.has('administer'),
        expires_at: apiKey?.expires_at ?? null,
      }
    },
  }) satisfies Partial<Handlers>
