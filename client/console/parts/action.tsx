import { useMutation, useQueryClient } from '@tanstack/react-query'
import {
  type FormEvent,
  type ReactNode,
  type SyntheticEvent,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { createPortal } from 'react-dom'
import { errorText, Problem } from './feedback.tsx'

interface ActionProps {
  /** The text of the button. */
  label: string
  /** What the action will do. */
  effect: ReactNode
  /** Further input. */
  children?: ReactNode
  /** A retry after an error uses the same key, so that nothing is sent twice. */
  run: (idempotency_key: string) => Promise<unknown>
  /** The message after success. */
  done?: ReactNode
  tone?: 'primary' | 'danger' | undefined
  disabled?: boolean
  /** Called when the dialog opens, to reset its input to the current values. */
  opened?: () => void
  closed?: () => void
}

/** A button with a confirmation dialog, which describes the action. */
export function Action({ label, effect, children, run, done, tone, disabled = false, opened, closed }: ActionProps) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  // The action may remove its own button: the focus then moves to the content.
  useLayoutEffect(() => {
    const its = button.current
    return () => {
      if (document.activeElement === its) document.getElementById('content')?.focus()
    }
  }, [])

  function open() {
    opened?.()
    setOpen(true)
  }

  function close() {
    setOpen(false)
    closed?.()
  }

  return (
    <>
      <button ref={button} type="button" className={tone} disabled={disabled} onClick={open}>
        {label}
      </button>
      {isOpen && (
        <Confirmation {...{ label, effect, run, done, tone }} close={close}>
          {children}
        </Confirmation>
      )}
    </>
  )
}

function Confirmation({ label, effect, children, run, done, tone, close }: ActionProps & { close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const queries = useQueryClient()
  const title = useId()
  const [idempotency_key] = useState(randomKey)
  const action = useMutation({ mutationFn: () => run(idempotency_key), onSettled: () => queries.invalidateQueries() })
  useEffect(() => dialog.current?.showModal(), [])
  /** Closing returns the focus to the button that opened the dialog. Its event comes later, when the button may have been used again. */
  function end() {
    dialog.current?.close()
    close()
  }

  function endAtOnce(event: SyntheticEvent) {
    event.preventDefault()
    end()
  }

  function submit(event: FormEvent) {
    event.preventDefault()
    // The dialog may be inside another form, which must not be submitted.
    event.stopPropagation()
    if (action.isPending) return
    action.mutate(undefined, { onSuccess: () => done === undefined && end() })
  }

  return createPortal(
    <dialog ref={dialog} onCancel={endAtOnce} onClose={close} aria-labelledby={title}>
      <form onSubmit={submit}>
        <h2 id={title}>{label}</h2>
        <div>{effect}</div>
        {!action.isSuccess && children}
        {action.isSuccess && done !== undefined && <div role="status">{done}</div>}
        {action.error && <Problem>{errorText(action.error)}</Problem>}
        <div className="buttons">
          <button type="button" onClick={end}>
            Close
          </button>
          {!action.isSuccess && (
            <button type="submit" className={tone ?? 'primary'} aria-disabled={action.isPending}>
              {action.isPending ? 'Working…' : label}
            </button>
          )}
        </div>
      </form>
    </dialog>,
    document.body,
  )
}

/** 128 bits in hex. crypto.randomUUID is absent where the page is not served over TLS. */
const randomKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
