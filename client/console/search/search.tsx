import { Dialog } from '@base-ui/react/dialog'
import { Search as Glass } from 'lucide-react'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { Boundary } from '../components/feedback.tsx'
import type { Target } from './palette.tsx'

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))

/** Opens the search over everything, also by Ctrl-K. */
export function Search({ targets }: { targets: Target[] }) {
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState('')
  const [openings, setOpenings] = useState(0)
  const before = useRef<Element>(null)
  useEffect(() => {
    function openIt(event: KeyboardEvent) {
      if (!(event.ctrlKey || event.metaKey) || event.key !== 'k') return
      event.preventDefault()
      // One that closes, this one too, is no longer in the way.
      if (!document.querySelector('[role="dialog"][data-open]')) change(true)
    }
    document.addEventListener('keydown', openIt)
    return () => document.removeEventListener('keydown', openIt)
  })
  function change(next: boolean) {
    if (next) {
      setText('')
      setOpenings(openings + 1)
      before.current = document.activeElement
    }
    setOpen(next)
  }
  /** Where the focus was, unless what was opened has it. */
  function finalFocus(): HTMLElement | boolean {
    const now = document.activeElement
    if (now !== document.body && !now?.closest('.palette')) return false
    return before.current instanceof HTMLElement && before.current.isConnected ? before.current : true
  }
  return (
    <Dialog.Root open={isOpen} onOpenChange={change}>
      <Dialog.Trigger className="find">
        <Glass className="icon" aria-hidden />
        Find
        <kbd>Ctrl K</kbd>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Viewport className="dialog-place high">
          <Dialog.Popup className="dialog palette" aria-label="Find" finalFocus={finalFocus}>
            <Boundary>
              <Suspense fallback={<FirstField text={text} setText={setText} />}>
                <Palette key={openings} targets={targets} text={text} setText={setText} close={() => setOpen(false)} />
              </Suspense>
            </Boundary>
          </Dialog.Popup>
        </Dialog.Viewport>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** Takes what is typed while the rest of the search is loaded. */
const FirstField = ({ text, setText }: { text: string; setText(text: string): void }) => (
  <div className="asked">
    <Glass className="icon" aria-hidden />
    {/* biome-ignore lint/a11y/noAutofocus: the dialog is opened to type here */}
    <input autoFocus aria-label="Find" value={text} onChange={(event) => setText(event.target.value)} />
  </div>
)
