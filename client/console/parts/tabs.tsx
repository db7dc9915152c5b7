import { useLayoutEffect, useRef } from 'react'
import { Link } from 'wouter'

/** Leads to the parts of a page. Where they are wider than the screen, they scroll, with the open one in sight. `tabs`: names by path. */
export function Tabs({ label, base, tabs, open }: { label: string; base: string; tabs: object; open: string }) {
  const row = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another open tab scrolls the row
  useLayoutEffect(() => {
    const its = row.current?.querySelector<HTMLElement>('[aria-current]')
    if (row.current && its) row.current.scrollLeft = its.offsetLeft - (row.current.clientWidth - its.offsetWidth) / 2
  }, [open])
  return (
    <nav className="tabs" aria-label={label} ref={row}>
      {Object.entries(tabs).map(([path, name]) => (
        <Link key={path} to={`${base}/${path}`} aria-current={path === open ? 'page' : undefined}>
          {name}
        </Link>
      ))}
    </nav>
  )
}
