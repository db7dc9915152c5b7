import { type ReactNode, useEffect, useRef } from 'react'
import { keepOpened, type Opened } from '../data/opened.ts'
import { useSession } from '../data/session.tsx'
import { useOpenProblems } from './problems.tsx'

/** The page that the browser loaded keeps the focus where it is. */
let isFirst = true

/**
 * The heading of a page, which takes the focus when the page is opened. `name` is the page's title in the browser. `opened`: the thing that
 * the page is about, which the search shows among the last ones.
 */
export function Heading({
  name,
  opened,
  children = name,
}: {
  name: string
  opened?: Opened | undefined
  children?: ReactNode
}) {
  const { caller } = useSession()
  const heading = useRef<HTMLHeadingElement>(null)
  const open = useOpenProblems()
  useEffect(() => {
    if (!isFirst) heading.current?.focus()
    isFirst = false
  }, [])
  useEffect(() => {
    if (opened) keepOpened(caller.id, opened)
  }, [opened, caller.id])
  return (
    <>
      <title>{`${open === 0 ? '' : `(${open}) `}${name} · Relayer console`}</title>
      <h1 ref={heading} tabIndex={-1}>
        {children}
      </h1>
    </>
  )
}
