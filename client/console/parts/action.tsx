import { Dialog } from '@base-ui/react/dialog'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { LucideIcon } from 'lucide-react'
import { type FormEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { useCommand } from '../data/commands.ts'
import { Faults, faultsIn } from './faults.tsx'
import { tell } from './toasts.tsx'

/** What success says: in the dialog, with what the reader needs from it; or in a message, when the dialog closes. */
type Outcome = { done: ReactNode; told?: never } | { told: ReactNode; done?: never }

type ActionProps = Outcome & {
  /** The text of the button. */
  label: string
  /** The title of the dialog and the text of its button, with the name of what is changed. Absent: the label. */
  title?: string
  /** Stands before the text; on a phone, in place of it. */
  icon?: LucideIcon
  /** What the action will do. */
  effect: ReactNode
  /** Further input. */
  children?: ReactNode
  /** A retry after an error uses the same key, so that nothing is sent twice. */
  run: (idempotency_key: string) => Promise<unknown>
  tone?: 'primary' | 'danger' | 'quiet' | undefined
  disabled?: boolean
  /** The button is a line of a menu (more.tsx). */
  isInMenu?: boolean
  /** Called when the dialog opens, to reset its input to the current values. */
  opened?: () => void
  closed?: () => void
}

/** A button with a confirmation dialog, which describes the action. */
export function Action({ tone, icon: Icon, disabled = false, isInMenu = false, opened, closed, ...its }: ActionProps) {
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
    if (next) opened?.()
    isUsed.current = true
    setOpen(next)
    if (!next) closed?.()
  }

  useCommand(its.title ?? its.label, () => change(true))

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

function Confirmation({
  label,
  title = label,
  effect,
  children,
  run,
  done,
  told,
  tone,
  close,
}: Pick<ActionProps, 'label' | 'title' | 'effect' | 'children' | 'run' | 'done' | 'told' | 'tone'> & {
  close(): void
}) {
  const queries = useQueryClient()
  const [idempotency_key] = useState(randomKey)
  const form = useRef<HTMLFormElement>(null)
  const [faults, setFaults] = useState<ReturnType<typeof faultsIn>>([])
  const action = useMutation({
    mutationFn: () => run(idempotency_key),
    onMutate: () => setFaults([]),
    onError: (error) => form.current && setFaults(faultsIn(form.current, error)),
    // Also when the action led to another page, which has no dialog.
    onSuccess() {
      if (done !== undefined) return
      tell(told)
      close()
    },
    onSettled: () => queries.invalidateQueries(),
  })

  function submit(event: FormEvent) {
    event.preventDefault()
    // The dialog may be inside another form, which must not be submitted.
    event.stopPropagation()
    if (action.isPending) return
    action.mutate()
  }

  return (
    <form ref={form} onSubmit={submit}>
      <Dialog.Title>{title}</Dialog.Title>
      <div className="effect">{effect}</div>
      {!action.isSuccess && children}
      {action.isSuccess && done !== undefined && <div role="status">{done}</div>}
      <Faults faults={faults} />
      <div className="buttons">
        <Dialog.Close>Close</Dialog.Close>
        {!action.isSuccess && (
          <button type="submit" className={tone === 'danger' ? tone : 'primary'} aria-disabled={action.isPending}>
            {action.isPending ? 'Working…' : title}
          </button>
        )}
      </div>
    </form>
  )
}

/** 128 bits in hex. crypto.randomUUID is absent where the page is not served over TLS. */
const randomKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
