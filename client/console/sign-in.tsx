import { type FormEvent, useState } from 'react'
import { Problem } from './components/feedback.tsx'
import { Field } from './components/fields.tsx'
import { connect, notAKey, type SignInState, signInProblem } from './data/session.tsx'

/** Asks for an API key. If the input is empty, the key of the tab is tried again. */
export function SignIn({ token, reason, signIn }: SignInState) {
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<string>()
  const [isRemembered, setRemembered] = useState(true)
  const [isBusy, setBusy] = useState(false)
  const resumes = token !== undefined && reason === undefined
  const key = typed.trim() || token

  async function tryKey(given: string) {
    setBusy(true)
    setError(undefined)
    try {
      signIn(given, (await connect(given).get('/api/v1/api-keys/self')).data, isRemembered)
    } catch (failure) {
      setError(signInProblem(failure))
    } finally {
      setBusy(false)
    }
  }

  function submit(event: FormEvent) {
    event.preventDefault()
    if (key === undefined) return
    if (/^[\x21-\x7e]+$/.test(key)) void tryKey(key)
    else setError(notAKey)
  }

  return (
    <main className="sign-in">
      <form onSubmit={submit} className="card">
        <h1>Relayer console</h1>
        <Field
          label="API key"
          type="password"
          kind="id"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <p className="hint">
          On its first start, the service writes a key to <code>data/api-key</code>. This tab keeps the key until it is
          closed, and the browser may write it to the disk.
        </p>
        <label className="check">
          <input type="checkbox" checked={!isRemembered} onChange={(event) => setRemembered(!event.target.checked)} />
          Keep it in memory only, until the page is reloaded
        </label>
        {(error ?? reason) !== undefined && <Problem>{error ?? reason}</Problem>}
        <button type="submit" className="primary" disabled={isBusy || resumes || key === undefined}>
          {isBusy || resumes ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </main>
  )
}
