import { type FormEvent, useState } from 'react'
import { connect, type SignInState, signInProblem } from '../data/session.tsx'
import { Problem } from '../parts/feedback.tsx'

/** Asks for an API key. Without a new one, the key that the tab has is tried again. */
export function SignIn({ token, reason, signIn }: SignInState) {
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const resumes = token !== undefined && reason === undefined
  const key = typed.trim() || token

  async function tryKey(given: string) {
    setBusy(true)
    setError(undefined)
    try {
      signIn(given, (await connect(given).get('/api/v1/caller')).data)
    } catch (failure) {
      setError(signInProblem(failure))
    } finally {
      setBusy(false)
    }
  }

  function submit(event: FormEvent) {
    event.preventDefault()
    if (key !== undefined) void tryKey(key)
  }

  return (
    <main className="sign-in">
      <form onSubmit={submit} className="card">
        <h1>Relayer console</h1>
        <label>
          API key
          <input
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
        <p className="hint">
          The first start of the service writes one to <code>data/api-key</code>. This tab keeps it until you close it.
        </p>
        {(error ?? reason) !== undefined && <Problem>{error ?? reason}</Problem>}
        <button type="submit" className="primary" disabled={isBusy || resumes || key === undefined}>
          {isBusy || resumes ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </main>
  )
}
