import { FileQuestion, type LucideIcon } from 'lucide-react'
import { type ComponentProps, type ReactNode, useEffect, useLayoutEffect, useRef } from 'react'
import { Link } from 'wouter'
import { RelayerError } from '../../index.ts'
import { useOpenProblems } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { keepRecent, type RecentPage } from '../data/storage.ts'
import { EmptyState, Loaded } from './feedback.tsx'
import { type Column, Table } from './table.tsx'

/** The page that the browser loaded keeps the focus where it is. */
let isFirst = true

interface HeadingProps {
  name: string
  opened?: RecentPage | undefined
  children?: ReactNode
}

/**
 * The heading of a page, which takes the focus when the page is opened. `name` is the page's title in the browser. `opened`: the thing that
 * the page is about, which the search shows among the last ones.
 */
export function Heading({ name, opened, children = name }: HeadingProps) {
  const { caller } = useSession()
  const heading = useRef<HTMLHeadingElement>(null)
  const open = useOpenProblems()
  useEffect(() => {
    if (!isFirst) heading.current?.focus()
    isFirst = false
  }, [])
  useEffect(() => {
    if (opened) keepRecent(caller.id, opened)
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

interface ListPageProps<Row> extends Omit<ComponentProps<typeof Loaded<Row[]>>, 'children'> {
  name: string
  of: string
  icon: LucideIcon
  /** The label of the button that creates more, and the button, if the API key may use it. */
  create: string
  button: ReactNode
  /** What would be here, in the place of an empty list. */
  about: string
  children(rows: Row[]): ReactNode
}

/** A page that lists what there is, with the button that creates more of it. */
export const ListPage = <Row,>({ name, of, icon, create, button, about, children, ...list }: ListPageProps<Row>) => (
  <>
    <div className="bar">
      <Heading name={name} />
      {button}
    </div>
    <Loaded as="rows" {...list}>
      {(rows) =>
        rows.length > 0 ? (
          children(rows)
        ) : (
          <EmptyState icon={icon} title={`No ${of} yet`} create={button ? create : false}>
            {about}
          </EmptyState>
        )
      }
    </Loaded>
  </>
)

type TablePageProps<Row> = Omit<ListPageProps<Row>, 'children'> & { columns: Column<Row>[] }

/** The same with a table of the resources. */
export const TablePage = <Row extends { id: string }>({ columns, ...page }: TablePageProps<Row>) => (
  <ListPage {...page}>
    {(rows) => (
      <Table of={page.of} columns={columns} sorted={columns[0]?.name ?? ''} rows={rows} idOf={({ id }) => id} />
    )}
  </ListPage>
)

/** The way from a page about one thing back to the list. */
export const Crumbs = ({ to, list, children }: { to: string; list: string; children: ReactNode }) => (
  <p className="crumbs">
    <Link to={to}>{list}</Link> / {children}
  </p>
)

export const isMissing = (error: unknown): boolean => error instanceof RelayerError && error.status === 404

/** In the place of a page about something that is unknown. `to`, `list`: where what there is is listed. `why`: where the reason is known. */
export const Missing = ({
  what,
  to,
  list,
  why = 'It does not exist, it was deleted, or your API key has no access to it.',
}: {
  what: string
  to: string
  list: string
  why?: string | undefined
}) => (
  <div className="nothing">
    <FileQuestion className="icon" aria-hidden />
    <Heading name={`${what} not found`} />
    <p>{why}</p>
    <Link to={to} className="button primary">
      Go to {list}
    </Link>
  </div>
)

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
