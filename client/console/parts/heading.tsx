import { type ReactNode, useEffect, useRef } from 'react'
import { useOpenProblems } from './problems.tsx'

/** The page that the browser loaded keeps the focus where it is. */
let isFirst = true

/** The heading of a page, which takes the focus when the page is opened. `name` is the page's title in the browser. */
export function Heading({ name, children = name }: { name: string; children?: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  const open = useOpenProblems()
  useEffect(() => {
    if (!isFirst) heading.current?.focus()
    isFirst = false
  }, [])
  return (
    <>
      <title>{`${open === 0 ? '' : `(${open}) `}${name} · Relayer console`}</title>
      <h1 ref={heading} tabIndex={-1}>
        {children}
      </h1>
    </>
  )
}
