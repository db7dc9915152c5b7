import { setTimeout as pause } from 'node:timers/promises'
import type { LoginTrust } from '../../domain/rows.ts'
import type { Store } from '../../store/store.ts'
import { KeyServiceFault } from '../key-service.ts'
import type { TokenLogin } from './pkcs11-messages.ts'

/**
 * The logins to PKCS #11 tokens. A token locks after a few wrong PINs, whoever gives them, so the store remembers the last PIN that a token
 * accepted and the one that it refused (as MACs), for all processes and servers.
 */
export interface TokenLogins {
  /**
   * Resolves when the PIN may be tried. It must then be ended. Rejects with KeyServiceFault when the token has refused a PIN since it
   * last accepted one, or, for an operator's PIN, this very PIN.
   */
  begin(login: TokenLogin, trust: LoginTrust, signal: AbortSignal): Promise<void>
  /** `unknown`: it failed before the token saw the PIN. */
  end(login: TokenLogin, outcome: 'accepted' | 'refused' | 'unknown'): Promise<void>
}

/** The pause before another look at the login of another process. */
const lookMs = 100

export function createTokenLogins(
  store: Pick<Store, 'beginLogin' | 'endLogin'>,
  mac: (text: string) => Uint8Array,
): TokenLogins {
  const tokenOf = ({ module, token_label }: TokenLogin) => JSON.stringify([module, token_label])
  const macOf = (login: TokenLogin) => mac(`pin ${JSON.stringify([login.module, login.token_label, login.pin])}`)

  return {
    async begin(login, trust, signal) {
      for (;;) {
        const answer = await store.beginLogin(tokenOf(login), macOf(login), trust)
        if (answer === 'try') return
        if (answer === 'refused') throw new KeyServiceFault('refused', refused)
        if (signal.aborted) throw new KeyServiceFault('unavailable', 'another process logs in to the token')
        await pause(lookMs)
      }
    },
    end: (login, outcome) => store.endLogin(tokenOf(login), macOf(login), outcome),
  }
}

const refused =
  'the token refused a PIN, so no other one is tried: a token locks after a few wrong PINs. An API key with all rights may try again'
