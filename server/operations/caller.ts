import type { GrantedScopes } from '../../generated/openapi.ts'
import { type Handlers, single } from '../core/operation.ts'
import type { OperationDependencies } from './dependencies.ts'

const scopes: GrantedScopes = ['sign', 'send', 'read', 'notifications', 'manage', 'relay']

/** The rights of the API key that asks. */
export const caller = ({ store }: Pick<OperationDependencies, 'store'>): Pick<Handlers, 'getCaller'> => ({
  async getCaller({ caller: { id, roles, relayer_ids, pool_ids } }) {
    const api_key = await store.getApiKey(id)
    return single({
      id,
      name: api_key?.name ?? null,
      scopes: scopes.filter((scope) => roles.has(scope)),
      relayer_ids: relayer_ids === undefined ? null : [...relayer_ids],
      pool_ids: [...pool_ids],
      may_administer: roles.has('administer'),
      expires_at: api_key?.expires_at ?? null,
    })
  },
})
