import { Dialog } from '@base-ui/react/dialog'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { CircleCheck, type LucideIcon } from 'lucide-react'
import {
  Children,
  cloneElement,
  createContext,
  type FormEvent,
  isValidElement,
  type ReactNode,
  useContext,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { createPortal } from 'react-dom'
import { useLocation } from 'wouter'
import { type RelayerClient, RelayerError } from '../../index.ts'
import { FormError } from '../data/form.ts'
import { count, sentence } from '../data/format.ts'
import { tell } from '../data/messages.ts'
import { usePressable } from '../data/press-button.ts'
import { useSession } from '../data/session.tsx'
import { detailText, errorText, Problem, placesOf } from './feedback.tsx'
import type { Choice } from './table.tsx'

/** A text, or one about the result of `run`. */
type Said<Result> = ReactNode | ((result: Result) => ReactNode)

/**
 * What success says: in a message, when the dialog closes; or in the dialog, with what the reader needs from it. Of both, `done` is for what
 * the reader has to see before: null where there is none.
 */
type Outcome<Result> =
  | { done: Said<Result>; message?: never }
  | { message: Said<Result>; done?: (result: Result) => ReactNode }
  | { label: keyof typeof pastOf; thing: string; message?: never; done?: never }

type ActionProps<Result> = Outcome<Result> & {
  /** The text of the button. */
  label: string
  /** What is changed, such as `pool eu-1`. */
  thing?: string
  /** The title of the dialog and the text of its button. Absent: the label, with the thing. */
  title?: string
  /** By which the search and menus open it, where titles may be the same. Absent: the title. */
  command?: string
  /** The text of the button that leaves everything as it is. */
  dismiss?: string
  /** The text of the button that acts. Absent: the title. */
  confirm?: string
  /** Stands before the text; on a phone, in place of it. */
  icon?: LucideIcon
  /** What the action will do; a text is one paragraph. */
  effect: ReactNode
  /** Further input. */
  children?: ReactNode
  /** The reader has to type this first: the ID of what is gone for good. */
  typed?: string
  /** Why it cannot be confirmed yet. */
  lack?: string | undefined
  /** A retry after an error uses the same key, so that nothing is sent twice. */
  run: (client: RelayerClient, idempotencyKey: string) => Promise<Result>
  tone?: 'primary' | 'danger' | 'quiet' | undefined
  /** A text says why, in the button's title. */
  disabled?: boolean | string
  /** The page that it leads to. */
  to?: string
  /** Asked before the dialog opens: it stays closed while something is missing. */
  isReady?: () => boolean
  /** What the action starts from: when it changes while the dialog is open, the dialog closes, and the message `ended` says so. */
  premise?: string
  ended?: string
  /** What `done` shows is shown once: only its button closes the dialog. */
  isOnce?: boolean
  /** Called when the dialog opens, to reset its input to the current values. */
  opened?: () => void
  closed?: () => void
}

/** What the message says of an action on a thing, where it says no more. */
const pastOf = {
  Edit: 'edited',
  Pause: 'paused',
  Resume: 'resumed',
  Revoke: 'revoked',
  Delete: 'deleted',
} as const

/** Whether the buttons of actions are the lines of a menu (menu.tsx). */
export const InMenu = createContext(false)

type Named = Pick<ActionProps<unknown>, 'label' | 'thing' | 'title' | 'command'>

const titleOf = ({ label, thing, title }: Named) => title ?? (thing === undefined ? label : `${label} ${thing}`)

/** By which the search and menus open the dialog. */
export const commandOf = (its: Named): string => its.command ?? titleOf(its)

/** A button with a confirmation dialog, which describes the action. */
export function Action<Result>({
  tone,
  icon: Icon,
  disabled = false,
  isReady = () => true,
  opened,
  closed,
  premise,
  ended,
  isOnce = false,
  ...its
}: ActionProps<Result>) {
  const isInMenu = useContext(InMenu)
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const isUsed = useRef(false)
  const openedWith = useRef(premise)
  const isKept = useRef(false)
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
    openedWith.current = premise
    isKept.current = false
    isUsed.current = true
    setOpen(next)
    if (!next) closed?.()
  }

  const isOver = isOpen && openedWith.current !== premise
  useEffect(() => {
    if (!isOver) return
    setOpen(false)
    if (ended !== undefined) tell(ended)
  }, [isOver, ended])

  const title = titleOf(its)
  const message =
    its.message ?? (its.thing !== undefined && its.done === undefined ? pastText(its.label, its.thing) : undefined)
  usePressable(commandOf(its), () => change(true), disabled === false)

  return (
    <Dialog.Root
      open={isOpen}
      onOpenChange={(next, { reason }) => (isKept.current && !next && reason !== 'close-press') || change(next)}
    >
      {!isInMenu && (
        <Dialog.Trigger
          ref={button}
          className={tone}
          disabled={disabled !== false}
          title={typeof disabled === 'string' ? disabled : undefined}
        >
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
            <Confirmation
              {...({ ...its, title, message } as ActionProps<Result>)}
              tone={tone}
              close={() => change(false)}
              succeeded={() => {
                isKept.current = isOnce
              }}
            />
          </Dialog.Popup>
        </Dialog.Viewport>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

const content = () => document.getElementById('content')

const pastText = (label: string, thing: string) => sentence(`${thing} is ${pastOf[label as keyof typeof pastOf]}`)

function Confirmation<Result>({
  label,
  title = label,
  dismiss = 'Close',
  confirm = label.startsWith('Edit') ? 'Save' : title,
  effect,
  children,
  typed,
  lack,
  run,
  done,
  message,
  tone,
  to,
  close,
  succeeded,
}: ActionProps<Result> & { close(): void; succeeded(): void }) {
  const { client } = useSession()
  const [, go] = useLocation()
  const queries = useQueryClient()
  const [idempotencyKey] = useState(randomKey)
  const [text, setText] = useState('')
  const { form, faults, check, blame, forgive } = useFaults()
  const isRunning = useRef(false)
  const action = useMutation({
    mutationFn: () => run(client, idempotencyKey),
    onError(error) {
      isRunning.current = false
      blame(error)
    },
    // Also when the action led to another page, which has no dialog.
    onSuccess(result) {
      if (to !== undefined) go(to)
      succeeded()
      if (textOf(done, result)) return
      tell(textOf(message, result))
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
      <div className="effect">{wholeIds(paragraphOf(effect))}</div>
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

/** A text as a paragraph. */
const paragraphOf = (effect: ReactNode) => (typeof effect === 'string' ? <p>{effect}</p> : effect)

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

/** What is wrong with an input. `place`: its label, or the group of its boxes, where the form has one. */
interface Fault {
  text: string
  place?: HTMLElement
}

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** What is wrong with the input of a form: `check` before it is sent, `blame` after the service refused it. */
export function useFaults() {
  const form = useRef<HTMLFormElement>(null)
  const [faults, setFaults] = useState<Fault[]>([])
  /** Shows them, and moves the focus to the first field. */
  function show(found: Fault[]) {
    setFaults(found)
    found
      .find(({ place }) => place)
      ?.place?.querySelector<HTMLElement>('input, select, textarea')
      ?.focus()
    return found.length === 0
  }
  return {
    form,
    faults,
    check: () => show(form.current ? lacksOf(form.current) : []),
    blame: (error: unknown) => void (form.current && show(foundIn(form.current, error))),
    /** A field that is changed has no fault until it is checked again. */
    forgive: ({ target }: FormEvent) =>
      setFaults((before) => before.filter(({ place }) => place && !place.contains(target as Node))),
  }
}

/** The fields that are empty or do not have their form. */
const lacksOf = (form: HTMLFormElement): Fault[] =>
  [...form.querySelectorAll<Field>(':is(input, select, textarea):invalid')].map((field) =>
    faultAt(field, lackOf(field)),
  )

function lackOf({ validity, validationMessage, type, tagName, inputMode }: Field): string {
  if (validity.customError) return validationMessage
  if (validity.valueMissing) return tagName === 'SELECT' ? 'Choose one.' : 'This field is required.'
  return `Enter ${expected[type] ?? expected[inputMode]}.`
}

/** By the type of a field, or by the keys of the screen for one with a pattern. */
const expected: Record<string, string> = {
  url: 'a URL, such as https://example.com/events',
  'datetime-local': 'a date and a time',
  decimal: 'an amount, such as 0.05',
  numeric: 'a whole number, such as 12',
}

function foundIn(form: HTMLFormElement, error: unknown): Fault[] {
  const at = (text: string, ...names: string[]): Fault => {
    const fields = names.map((name) => form.querySelector<HTMLElement>(`[name="${CSS.escape(name)}"]`))
    return faultAt(
      fields.find((field) => field !== null),
      text,
    )
  }
  if (error instanceof FormError) return [at(error.message, error.field)]
  if (!(error instanceof RelayerError)) return [{ text: errorText(error) }]
  const faults = error.details.map((detail) => {
    const found = at(detailText(detail, true), ...placesOf(detail).reverse())
    return found.place ? found : { text: detailText(detail) }
  })
  return faults.some(({ place }) => place) ? faults : [{ text: errorText(error) }]
}

function faultAt(field: HTMLElement | undefined, text: string): Fault {
  const place = field?.closest<HTMLElement>('fieldset') ?? field?.closest('label')
  return place ? { text, place } : { text }
}

/** Each fault under its field; the others below. */
export const Faults = ({ faults }: { faults: Fault[] }) =>
  faults.map((fault) => {
    const { text, place } = fault
    const key = `${faults.indexOf(fault)} ${text}`
    return place ? (
      createPortal(
        <span className="fault" role="alert">
          {text}
        </span>,
        place,
        key,
      )
    ) : (
      <Problem key={key}>{text}</Problem>
    )
  })

/** Texts whose words with hyphens, such as IDs, are kept on one line where they fit. What components render stays as it is. */
const wholeIds = (node: ReactNode): ReactNode =>
  Children.map(node, (part) => {
    if (typeof part === 'string') return withWholeIds(part)
    if (!isValidElement<{ children?: ReactNode }>(part) || part.props.children === undefined) return part
    return typeof part.type === 'string' ? cloneElement(part, {}, wholeIds(part.props.children)) : part
  })

/** Every other part of the split is a word with a hyphen. */
const withWholeIds = (text: string): ReactNode =>
  text.split(/(\S+-[^\s.,:;?)]+)/).map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name
      <span key={index} className="whole-id">
        {part}
      </span>
    ),
  )

const shownFailures = 20

/** An action on several of the chosen items, one after the other. It goes on when one is refused: those stay chosen, and are named. */
export function Bulk<Item>({
  effect,
  children,
  choice,
  items,
  idOf,
  opened,
  nameOf,
  run,
  did,
  ...action
}: Pick<ActionProps<Item>, 'label' | 'title' | 'dismiss' | 'tone' | 'effect' | 'lack' | 'disabled' | 'opened'> & {
  /** What is known of each item, in the place of their names. */
  children?: ReactNode
  choice: Choice
  /** The chosen ones as they are now. */
  items: Item[]
  idOf(item: NoInfer<Item>): string
  nameOf(item: NoInfer<Item>): string
  run(client: RelayerClient, item: NoInfer<Item>): Promise<unknown>
  /** What is done to each, such as "paused". */
  did: string
}) {
  const [ended, setEnded] = useState(0)
  const isRunning = ended > 0 && ended < items.length
  return (
    <Action
      disabled={items.length === 0}
      {...action}
      opened={() => {
        setEnded(0)
        opened?.()
      }}
      effect={
        <>
          {paragraphOf(effect)}
          {children === undefined && (
            <p className="hint">
              For {count(items.length)}: {items.slice(0, 5).map(nameOf).join(', ')}
              {items.length > 5 && ', …'}
            </p>
          )}
          {isRunning && (
            <p className="hint" aria-live="polite">
              {count(ended)} of {count(items.length)} done
            </p>
          )}
        </>
      }
      run={async (client) => {
        const refused: { item: Item; why: string }[] = []
        for (const [index, item] of items.entries()) {
          await run(client, item).catch((error) => refused.push({ item, why: `${nameOf(item)}: ${errorText(error)}` }))
          setEnded(index + 1)
        }
        choice.set(refused.map(({ item }) => idOf(item)))
        return { good: items.length - refused.length, refused }
      }}
      message={({ good }) => `${count(good)} ${did}.`}
      done={({ good, refused }) =>
        refused.length > 0 && (
          <>
            <p>
              {count(good)} {did}, {count(refused.length)} refused:
            </p>
            {refused.slice(0, shownFailures).map(({ why }) => (
              <Problem key={why}>{why}</Problem>
            ))}
            {refused.length > shownFailures && <p>and {count(refused.length - shownFailures)} more</p>}
          </>
        )
      }
    >
      {children}
    </Action>
  )
}
