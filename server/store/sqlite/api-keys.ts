import type { ApiKey } from '../../../generated/openapi.ts'
import type { ApiKeyRow } from '../../core/rows.ts'
import { encode, max_api_keys, type Row, read } from '../api-key-rows.ts'
import type { SealedRow } from '../rights-tables.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { lister } from './lists.ts'
import { sealedColumns } from './rights-tables.ts'

const columns = `id, name, secret_hash, former_hash, former_valid_until, scopes,
  iif(is_limited, (
    SELECT json_group_array(relayers.id ORDER BY relayers.row_id) FROM api_key_relayers JOIN relayers ON relayers.row_id = relayer_row_id
    WHERE api_key_row_id = api_keys.row_id
  ), NULL) AS relayer_ids,
  allowed_cidrs, rate_limit, expires_at, created_at, last_used_at`

type ApiKeys = Pick<
  Store,
  | 'createApiKey'
  | 'getApiKey'
  | 'listApiKeys'
  | 'updateApiKey'
  | 'rotateApiKey'
  | 'deleteApiKey'
  | 'apiKeys'
  | 'apiKey'
  | 'noteApiKeyUses'
>

export function apiKeys({ db, write, writeCached, rights }: Connection): ApiKeys {
  const select = db.prepare<[string], Row>(`SELECT ${columns} FROM api_keys WHERE id = ?`)
  const selectAll = db.prepare<[], Row & SealedRow>(
    `SELECT ${columns}, ${sealedColumns('api_keys')} FROM api_keys ORDER BY row_id`,
  )
  const selectSealed = db.prepare<[string], Row & SealedRow>(
    `SELECT ${columns}, ${sealedColumns('api_keys')} FROM api_keys WHERE id = ?`,
  )
  const count = db.prepare<[], number>('SELECT COUNT(*) FROM api_keys').pluck()
  const insert = db.prepare<[object]>(`
    INSERT INTO api_keys (id, name, secret_hash, scopes, is_limited, allowed_cidrs, rate_limit, expires_at, created_at)
    VALUES ($id, $name, $secret_hash, $scopes, $is_limited, $allowed_cidrs, $rate_limit, $expires_at, $created_at)`)
  const update = db.prepare<[object]>(`
    UPDATE api_keys SET name = $name, scopes = $scopes, is_limited = $is_limited, allowed_cidrs = $allowed_cidrs,
      rate_limit = $rate_limit, expires_at = $expires_at
    WHERE id = $id`)
  const rotate = db.prepare<[string | null, string | null, Uint8Array, string]>(`
    UPDATE api_keys SET former_hash = iif(? IS NULL, NULL, secret_hash), former_valid_until = ?, secret_hash = ?
    WHERE id = ?`)
  const remove = db.prepare<[string]>('DELETE FROM api_keys WHERE id = ?')
  const use = db.prepare<[string, string]>('UPDATE api_keys SET last_used_at = ? WHERE id = ?')
  /** The index of the first id of a JSON list that no relayer has. */
  const unknown = db
    .prepare<[string], number>(
      'SELECT key FROM json_each(+?) WHERE NOT EXISTS (SELECT 1 FROM relayers WHERE id = value) ORDER BY key LIMIT 1',
    )
    .pluck()
  const forget = db.prepare<[string]>(
    'DELETE FROM api_key_relayers WHERE api_key_row_id = (SELECT row_id FROM api_keys WHERE id = ?)',
  )
  const limit = db.prepare<{ id: string; relayer_ids: string }>(`
    INSERT INTO api_key_relayers (api_key_row_id, relayer_row_id)
    SELECT api_keys.row_id, relayers.row_id FROM json_each($relayer_ids) CROSS JOIN relayers ON relayers.id = value
      JOIN api_keys ON api_keys.id = $id`)

  const get = (id: string) => {
    const row = select.get(id)
    return row && read(row)
  }
  const unknownRelayer = ({ relayer_ids }: Pick<ApiKey, 'relayer_ids'>) =>
    unknown.get(JSON.stringify(relayer_ids ?? []))
  const limitTo = ({ id, relayer_ids }: Pick<ApiKey, 'id' | 'relayer_ids'>) => {
    forget.run(id)
    limit.run({ id, relayer_ids: JSON.stringify(relayer_ids ?? []) })
  }

  return {
    createApiKey: async (api_key) =>
      writeCached(() => {
        if ((count.get() as number) >= max_api_keys) return 'too_many'
        const unknown_relayer = unknownRelayer(api_key)
        if (unknown_relayer !== undefined) return { unknown_relayer }
        insert.run(encode(api_key))
        limitTo(api_key)
        return get(api_key.id) as ApiKeyRow
      }),
    getApiKey: async (id) => get(id),
    listApiKeys: lister(db, 'api_keys', columns, read),
    updateApiKey: async (id, changes) =>
      writeCached(() => {
        const before = get(id)
        if (!before) return 'missing'
        const unknown_relayer = unknownRelayer({ relayer_ids: null, ...changes })
        if (unknown_relayer !== undefined) return { unknown_relayer }
        update.run(encode({ ...before, ...changes }))
        if (changes.relayer_ids !== undefined) limitTo({ id, relayer_ids: changes.relayer_ids })
        return get(id) as ApiKeyRow
      }),
    rotateApiKey: async (id, secret_hash, former_valid_until) =>
      writeCached(() => {
        rotate.run(former_valid_until, former_valid_until, secret_hash, id)
        return get(id)
      }),
    deleteApiKey: async (id) => writeCached(() => remove.run(id).changes === 1),
    // API keys that another program changed grant no rights, and do not affect the others.
    apiKeys: async () =>
      selectAll
        .all()
        .filter((row) => rights.isTrusted('api_keys', row))
        .map(read),
    async apiKey(id) {
      const row = selectSealed.get(id)
      return row && rights.isTrusted('api_keys', row) ? read(row) : undefined
    },
    noteApiKeyUses: async (uses) => void write(() => uses.forEach((at, id) => void use.run(at, id))),
  }
}
