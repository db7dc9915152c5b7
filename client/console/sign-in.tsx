import { Waypoints } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Problem } from './components/feedback.tsx'
import { Field } from './components/fields.tsx'
import { connect, notAKey, type SignInState, signInProblem } from './data/session.tsx'

/** Asks for an API key. If the input is empty, the key of the tab is tried again. */
export function SignIn({ token, reason, signIn }: SignInState) {
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<string>()
  const [isRemembered, setRemembered] = useState(true)
  const [isShown, setShown] = useState(false)
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
    if (isBusy || resumes) return
    if (key === undefined) setError('Enter an API key.')
    else if (/^[\x21-\x7e]+$/.test(key)) void tryKey(key)
    else setError(notAKey)
  }

  return (
    <main className="sign-in">
      <form onSubmit={submit} className="card">
        <h1>
          <Waypoints className="icon" aria-hidden />
          Relayer console
        </h1>
        <div className="secret">
          <Field
            label="API key"
            type={isShown ? 'text' : 'password'}
            kind="id"
            autoFocus
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          <button type="button" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
            {isShown ? 'Hide' : 'Show'}
          </button>
        </div>
        <p className="hint">
          The service wrote the first key to{' '}
          <span className="whole-id">
            <code>data/api-key</code>.
          </span>
        </p>
        {(error ?? reason) !== undefined && <Problem>{error ?? reason}</Problem>}
        <button type="submit" className="primary" aria-busy={isBusy || resumes}>
          {isBusy || resumes ? 'Signing in…' : 'Sign in'}
        </button>
        <label className="check">
          <input type="checkbox" checked={isRemembered} onChange={(event) => setRemembered(event.target.checked)} />
          Stay signed in when this page is reloaded
        </label>
        <p className="hint">
          {isRemembered
            ? 'This tab keeps the key until it is closed. The browser may write it to the disk.'
            : 'The key is kept in memory only.'}
        </p>
      </form>
    </main>
  )
}
