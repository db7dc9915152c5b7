import { Dialog } from '@base-ui/react/dialog'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { CircleCheck, type LucideIcon } from 'lucide-react'
import { type FormEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { useCommand } from '../data/commands.ts'
import { Faults, useFaults } from './faults.tsx'
import { tell } from './toasts.tsx'
import { wholeIds } from './whole-ids.tsx'

/** A text, or one about the result of `run`. */
type Said<Result> = ReactNode | ((result: Result) => ReactNode)

/**
 * What success says: in a message, when the dialog closes; or in the dialog, with what the reader needs from it. Of both, `done` is for what
 * the reader has to see before: null where there is none.
 */
type Outcome<Result> =
  | { done: Said<Result>; told?: never }
  | { told: Said<Result>; done?: (result: Result) => ReactNode }

type ActionProps<Result> = Outcome<Result> & {
  /** The text of the button. */
  label: string
  /** The title of the dialog and the text of its button, with the name of what is changed. Absent: the label. */
  title?: string
  /** By which the search and menus open it, where titles may be the same. Absent: the title. */
  command?: string
  /** The text of the button that leaves everything as it is. */
  dismiss?: string
  /** The text of the button that acts. Absent: the title. */
  confirm?: string
  /** Stands before the text; on a phone, in place of it. */
  icon?: LucideIcon
  /** What the action will do. */
  effect: ReactNode
  /** Further input. */
  children?: ReactNode
  /** The reader has to type this first: the ID of what is gone for good. */
  typed?: string
  /** Why it cannot be confirmed yet. */
  lack?: string | undefined
  /** A retry after an error uses the same key, so that nothing is sent twice. */
  run: (idempotency_key: string) => Promise<Result>
  tone?: 'primary' | 'danger' | 'quiet' | undefined
  disabled?: boolean
  /** Asked before the dialog opens: it stays closed while something is missing. */
  isReady?: () => boolean
  /** The button is a line of a menu (more.tsx). */
  isInMenu?: boolean
  /** Called when the dialog opens, to reset its input to the current values. */
  opened?: () => void
  closed?: () => void
}

/** A button with a confirmation dialog, which describes the action. */
export function Action<Result>({
  tone,
  icon: Icon,
  disabled = false,
  isInMenu = false,
  isReady = () => true,
  command,
  opened,
  closed,
  ...its
}: ActionProps<Result>) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const isUsed = useRef(false)
  // The action may remove its own button: the focus, which nothing has then, moves to the content.
  useLayoutEffect(
    () => () => {
      if (!isUsed.current) return
      setTimeout(() => {
        if (document.activeElement === document.body) content()?.focus({ preventScroll: true })
      })
    },
    [],
  )

  function change(next: boolean) {
    if (next && !isReady()) return
    if (next) opened?.()
    isUsed.current = true
    setOpen(next)
    if (!next) closed?.()
  }

  useCommand(command ?? its.title ?? its.label, () => change(true), !disabled)

  return (
    <Dialog.Root open={isOpen} onOpenChange={change}>
      {!isInMenu && (
        <Dialog.Trigger ref={button} className={tone} disabled={disabled}>
          {Icon ? (
            <>
              <Icon className="icon" aria-hidden />
              <span>{its.label}</span>
            </>
          ) : (
            its.label
          )}
        </Dialog.Trigger>
      )}
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Viewport className="dialog-place">
          <Dialog.Popup
            className="dialog"
            finalFocus={() => isInMenu || (button.current?.checkVisibility() ? button.current : (content() ?? true))}
          >
            <Confirmation {...its} tone={tone} close={() => change(false)} />
          </Dialog.Popup>
        </Dialog.Viewport>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

const content = () => document.getElementById('content')

function Confirmation<Result>({
  label,
  title = label,
  dismiss = 'Close',
  confirm = title,
  effect,
  children,
  typed,
  lack,
  run,
  done,
  told,
  tone,
  close,
}: Pick<
  ActionProps<Result>,
  | 'label'
  | 'title'
  | 'dismiss'
  | 'confirm'
  | 'effect'
  | 'children'
  | 'typed'
  | 'lack'
  | 'run'
  | 'done'
  | 'told'
  | 'tone'
> & {
  close(): void
}) {
  const queries = useQueryClient()
  const [idempotency_key] = useState(randomKey)
  const [text, setText] = useState('')
  const { form, faults, check, blame, forgive } = useFaults()
  const isRunning = useRef(false)
  const action = useMutation({
    mutationFn: () => run(idempotency_key),
    onError(error) {
      isRunning.current = false
      blame(error)
    },
    // Also when the action led to another page, which has no dialog.
    onSuccess(result) {
      if (textOf(done, result)) return
      tell(textOf(told, result))
      close()
    },
    onSettled: () => void queries.invalidateQueries(),
  })

  function submit(event: FormEvent) {
    event.preventDefault()
    // The dialog may be inside another form, which must not be submitted.
    event.stopPropagation()
    // A second click may come before the first is shown.
    if (isRunning.current || !check()) return
    isRunning.current = true
    action.mutate()
  }

  const rest = action.isSuccess && textOf(done, action.data)
  if (rest)
    return (
      <>
        <Dialog.Title>{title}</Dialog.Title>
        <div className="outcome" role="status">
          <CircleCheck className="icon" aria-hidden />
          <div>{rest}</div>
        </div>
        <div className="buttons">
          <Dialog.Close>Close</Dialog.Close>
        </div>
      </>
    )
  return (
    <form ref={form} noValidate onSubmit={submit} onChange={forgive}>
      <Dialog.Title>{wholeIds(title)}</Dialog.Title>
      <div className="effect">{wholeIds(effect)}</div>
      {children}
      {typed !== undefined && <Typed what={typed} text={text} setText={setText} />}
      {lack !== undefined && <p className="hint">{lack}</p>}
      <Faults faults={faults} />
      <div className="buttons">
        {/* "Cancel" is an action of transactions. */}
        <Dialog.Close>{dismiss}</Dialog.Close>
        <button
          type="submit"
          className={tone === 'danger' ? tone : 'primary'}
          disabled={lack !== undefined || (typed !== undefined && text !== typed)}
          aria-busy={action.isPending}
        >
          {confirm}
        </button>
      </div>
    </form>
  )
}

function textOf<Result>(said: Said<Result>, result: Result): ReactNode {
  return typeof said === 'function' ? said(result) : said
}

/** What has to be typed before the button can be pressed. */
const Typed = ({ what, text, setText }: { what: string; text: string; setText(text: string): void }) => (
  <label>
    Type its ID to confirm
    <input
      name="typed"
      spellCheck={false}
      autoComplete="off"
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
    {text !== what && <span className="hint">The button works when this is exactly {what}.</span>}
  </label>
)

/** 128 bits in hex. crypto.randomUUID is absent where the page is not served over TLS. */
const randomKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
