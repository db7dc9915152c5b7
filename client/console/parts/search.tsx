import { Dialog } from '@base-ui/react/dialog'
import { Search as Glass } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))

/** Opens the search over everything, also by Ctrl-K. */
export function Search({ pages }: { pages: { to: string; name: string }[] }) {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    function openIt(event: KeyboardEvent) {
      if (!(event.ctrlKey || event.metaKey) || event.key !== 'k') return
      event.preventDefault()
      setOpen(true)
    }
    document.addEventListener('keydown', openIt)
    return () => document.removeEventListener('keydown', openIt)
  }, [])
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger className="find">
        <Glass className="icon" aria-hidden />
        Find
        <kbd>Ctrl K</kbd>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Viewport className="dialog-place high">
          <Dialog.Popup className="dialog palette" aria-label="Find">
            <Suspense>
              <Palette pages={pages} close={() => setOpen(false)} />
            </Suspense>
          </Dialog.Popup>
        </Dialog.Viewport>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
