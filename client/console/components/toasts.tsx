import { Toast } from '@base-ui/react/toast'
import { CircleCheck, X } from 'lucide-react'
import { useEffect } from 'react'
import { useLocation } from 'wouter'
import { takeMessages } from '../data/messages.ts'

const messages = Toast.createToastManager<{ page: string }>()
const shownMs = 8_000
/** A message asks nothing, so it is no dialog. */
const asGroup = { role: 'group', 'aria-modal': undefined } as const

/** Each message goes by itself, and when another page is opened. */
export function Toasts() {
  useEffect(
    () => takeMessages(({ text, page }) => messages.add({ description: text, timeout: shownMs, data: { page } })),
    [],
  )
  return (
    <Toast.Provider toastManager={messages} limit={3}>
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function List() {
  const { toasts, close } = Toast.useToastManager<{ page: string }>()
  const [page] = useLocation()
  useEffect(() => {
    for (const { id, data, transitionStatus } of toasts)
      if (data?.page !== page && transitionStatus !== 'ending') close(id)
  }, [toasts, close, page])
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="toast" swipeDirection={[]} {...asGroup}>
      <CircleCheck className="icon" aria-hidden />
      <div>
        <Toast.Description render={<div />} />
      </div>
      <Toast.Close className="quiet small" aria-label="Dismiss" aria-hidden={undefined}>
        <X className="icon" aria-hidden />
      </Toast.Close>
    </Toast.Root>
  ))
}
