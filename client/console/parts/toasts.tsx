import { Toast } from '@base-ui/react/toast'
import { CircleCheck, X } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import { useLocation } from 'wouter'

const messages = Toast.createToastManager<{ page: string }>()
const shown_ms = 8_000
/** A message asks nothing, so it is no dialog. */
const message = { role: 'group', 'aria-modal': undefined } as const

/** Shows for some seconds what an action did, on the page that is open then: the action may have opened it. */
export const tell = (text: ReactNode): void =>
  void messages.add({ description: text, timeout: shown_ms, data: { page: shownPage() } })

/** As `useLocation` names it. */
const shownPage = () => `/${location.hash.replace(/^#?\/?/, '')}`

export const Toasts = () => (
  <Toast.Provider toastManager={messages} limit={3}>
    <Toast.Portal>
      <Toast.Viewport className="toasts">
        <List />
      </Toast.Viewport>
    </Toast.Portal>
  </Toast.Provider>
)

function List() {
  const { toasts, close } = Toast.useToastManager<{ page: string }>()
  const [page] = useLocation()
  useEffect(() => {
    for (const { id, data, transitionStatus } of toasts)
      if (data?.page !== page && transitionStatus !== 'ending') close(id)
  }, [toasts, close, page])
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="toast" swipeDirection={[]} {...message}>
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
