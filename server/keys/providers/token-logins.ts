import { setTimeout as pause } from 'node:timers/promises'
import type { LoginTrust } from '../../domain/rows.ts'
import type { Store } from '../../store/store.ts'
import { KeyServiceFault } from '../key-service.ts'
import type { TokenLogin } from './pkcs11-messages.ts'

/** The pause before another look at the login of another process. */
const lookMs = 100

/**
 * The logins to PKCS #11 tokens. A token locks after a few wrong PINs, whoever gives them, so the store remembers the last PIN that a token
 * accepted and the one that it refused (as MACs), for all processes and servers.
 */
export class TokenLogins {
  readonly #store: Pick<Store, 'beginLogin' | 'endLogin'>
  readonly #mac: (text: string) => Uint8Array

  constructor(store: Pick<Store, 'beginLogin' | 'endLogin'>, mac: (text: string) => Uint8Array) {
    this.#store = store
    this.#mac = mac
  }

  /**
   * Resolves when the PIN may be tried. It must then be ended. Rejects with KeyServiceFault when the token has refused a PIN since it
   * last accepted one, or, for an operator's PIN, this very PIN.
   */
  async begin(login: TokenLogin, trust: LoginTrust, signal: AbortSignal): Promise<void> {
    for (;;) {
      const answer = await this.#store.beginLogin(this.#tokenOf(login), this.#macOf(login), trust)
      if (answer === 'try') return
      if (answer === 'refused') throw new KeyServiceFault('refused', refused)
      if (signal.aborted) throw new KeyServiceFault('unavailable', 'another process logs in to the token')
      await pause(lookMs)
    }
  }

  /** `unknown`: it failed before the token saw the PIN. */
  end(login: TokenLogin, outcome: 'accepted' | 'refused' | 'unknown'): Promise<void> {
    return this.#store.endLogin(this.#tokenOf(login), this.#macOf(login), outcome)
  }

  #tokenOf({ module, token_label }: TokenLogin) {
    return JSON.stringify([module, token_label])
  }

  #macOf(login: TokenLogin) {
    return this.#mac(`pin ${JSON.stringify([login.module, login.token_label, login.pin])}`)
  }
}

const refused =
  'the token refused a PIN, so no other one is tried: a token locks after a few wrong PINs. An API key with all rights may try again'
