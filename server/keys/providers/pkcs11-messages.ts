/** The token that a process of its own works with, and its login. */
export interface TokenLogin {
  module: string
  token_label: string
  pin: string
}

export interface TokenKey {
  key_label?: string
  /** Hex. */
  key_id?: string
}

export type TokenRequest = { id: number; key: TokenKey; digest?: Uint8Array }

/** The first message to the process. */
export type TokenStart = { login: TokenLogin }

/** `fault`: the name of a PKCS #11 return value (CKR_...), or a sentence. */
export interface TokenFault {
  fault: string
  kind: 'refused' | 'unavailable' | 'throttled'
  /** Whether a fresh process may help: it finds a token that was removed and inserted, and logs in again. */
  restart: boolean
}

/** The answer to the login has the id 0. */
export type TokenAnswer = { id: number } & ({ point: Uint8Array } | { rs: Uint8Array } | { open: true } | TokenFault)

/** After these, PIN counters of tokens have decreased. */
export const pinFaults = new Set([
  'CKR_PIN_INCORRECT',
  'CKR_PIN_INVALID',
  'CKR_PIN_LEN_RANGE',
  'CKR_PIN_EXPIRED',
  'CKR_PIN_LOCKED',
])
