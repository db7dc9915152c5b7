import * as v from 'valibot'
import { text, webUrl } from './forms.ts'

/** A server of HashiCorp Vault or OpenBao, and the credentials: a token, or an AppRole. */
export type VaultAccess = { url: string; namespace?: string } & (
  | { token: string }
  | { role_id: string; secret_id: string }
)

const word = v.optional(text(4_096))

/** Settings of the service, with the names that Vault's own programs use. */
export const vaultSettings = {
  VAULT_ADDR: v.optional(webUrl),
  VAULT_NAMESPACE: word,
  VAULT_TOKEN: word,
  VAULT_ROLE_ID: word,
  VAULT_SECRET_ID: word,
}

type VaultSettings = { [Name in keyof typeof vaultSettings]?: string | undefined }

/** Undefined when the settings are not complete. */
export function readVaultAccess(settings: VaultSettings): VaultAccess | undefined {
  const { VAULT_ADDR: url, VAULT_NAMESPACE, VAULT_TOKEN: token, VAULT_ROLE_ID, VAULT_SECRET_ID } = settings
  if (url === undefined) return undefined
  const server = { url, ...(VAULT_NAMESPACE !== undefined && { namespace: VAULT_NAMESPACE }) }
  if (VAULT_ROLE_ID !== undefined && VAULT_SECRET_ID !== undefined) {
    return { ...server, role_id: VAULT_ROLE_ID, secret_id: VAULT_SECRET_ID }
  }
  return token === undefined ? undefined : { ...server, token }
}
