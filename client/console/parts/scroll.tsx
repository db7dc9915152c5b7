import { type ReactNode, useEffect, useRef, useState } from 'react'

/**
 * The box of a table, which scrolls sideways while the table is wider. While it fits, the page scrolls only, and the head of the table stays in
 * sight: a box that scrolls would hold it.
 */
export function Scroll({ children }: { children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null)
  const [fits, setFits] = useState(false)
  useEffect(() => {
    const its = box.current
    if (!its) return
    const observer = new ResizeObserver(() => setFits(its.scrollWidth <= its.clientWidth))
    for (const one of [its, ...its.children]) observer.observe(one)
    return () => observer.disconnect()
  }, [])
  return (
    <div className={fits ? 'scroll fits' : 'scroll'} ref={box}>
      {children}
    </div>
  )
}
