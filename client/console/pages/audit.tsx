import { useQuery } from '@tanstack/react-query'
import { ScrollText } from 'lucide-react'
import { type FormEvent, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { RelayerClient } from '../../index.ts'
import { given } from '../data/form.ts'
import { count } from '../data/format.ts'
import { callerName } from '../data/names.ts'
import { operationOf } from '../data/operations.ts'
import { phone } from '../data/phone.ts'
import { useSession } from '../data/session.tsx'
import { audit_columns } from '../parts/audit-columns.tsx'
import { Csv } from '../parts/csv.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable, decoded, encoded } from '../parts/links.tsx'
import { ClearFilters, Nothing } from '../parts/nothing.tsx'
import { Pages } from '../parts/pages.tsx'
import { PeriodFields, periodIn } from '../parts/period.tsx'
import { Table } from '../parts/table.tsx'

const per_page = 50
const fields = ['caller', 'operation', 'relayer_id', 'subject', 'outcome', 'callers', 'after', 'before'] as const
type Typed = Partial<Record<(typeof fields)[number], string>>
type Filter = Omit<Typed, 'outcome' | 'callers'> & { outcome?: 'succeeded' | 'refused'; callers?: 'others' }
const text_fields = [
  ['caller', 'Caller', 'API key, service'],
  ['operation', 'Operation', 'send transaction'],
  ['relayer_id', 'Relayer', 'ID of a relayer'],
  ['subject', 'Subject', 'ID or digest'],
] as const
const csv_header = [
  'chain',
  'sequence',
  'at',
  'caller',
  'operation',
  'relayer_id',
  'subject',
  'result',
  'request_id',
] as const

/** The audit trail with its filters, which are in the page's address. The service's own actions are left out at first. */
export function Audit({ find = 'callers=others' }: { find?: string | undefined }) {
  const { client } = useSession()
  const [, go] = useLocation()
  const [page, setPage] = useState(1)
  const typed = Object.fromEntries(new URLSearchParams(decoded(find))) as Typed
  const filter = filterOf(typed)
  const form = useRef<HTMLFormElement>(null)
  const head = useQuery({
    queryKey: ['audit-head'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/audit/head', { signal })).data,
  })
  const entries = useQuery({
    queryKey: ['audit', filter, page],
    queryFn: ({ signal }) => client.get('/api/v1/audit', { query: { ...filter, page, per_page }, signal }),
    placeholderData: (before) => before,
  })

  function search(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const texts_of = new FormData(event.currentTarget)
    setPage(1)
    const texts = Object.fromEntries(fields.map((name) => [name, String(texts_of.get(name) ?? '').trim()]))
    const its = given({ ...texts, after: undefined, before: undefined })
    const wanted = new URLSearchParams({ ...its, ...periodIn(event.currentTarget) } as Record<string, string>)
    go(`/audit/${encoded(`${wanted}`)}`, { replace: true })
  }

  return (
    <>
      <Heading name="Audit" />
      <search>
        <details className="narrowed" open={!phone.matches || isNarrowed(typed)}>
          <summary>Filter, export and verify</summary>
          <Loaded query={head} lines={1}>
            {({ entries: all, hash, chains }) => (
              <p>
                {count(all)} {all === 1 ? 'entry' : 'entries'} in{' '}
                {chains.length > 1 ? `${chains.length} hash chains` : 'one hash chain'}.{' '}
                <code>npm run audit -- verify</code> checks all entries and must print this head:{' '}
                <Copyable value={hash} />
              </p>
            )}
          </Loaded>
          <form className="filters" onSubmit={search} ref={form}>
            {text_fields.map(([name, title, example]) => (
              <label key={name}>
                {title}
                <input
                  key={typed[name]}
                  name={name}
                  maxLength={128}
                  placeholder={example}
                  spellCheck={false}
                  defaultValue={typed[name]}
                />
              </label>
            ))}
            <PeriodFields
              period={{ ...(filter.after && { after: filter.after }), ...(filter.before && { before: filter.before }) }}
              chosen={() => form.current?.requestSubmit()}
            />
            <label>
              Result
              <select key={typed.outcome} name="outcome" defaultValue={typed.outcome ?? ''}>
                <option value="">any</option>
                <option value="succeeded">succeeded</option>
                <option value="refused">refused</option>
              </select>
            </label>
            <div className="row">
              <label className="check">
                <input
                  key={typed.callers}
                  type="checkbox"
                  name="callers"
                  value="others"
                  defaultChecked={typed.callers === 'others'}
                />{' '}
                Without the service's own
              </label>
              <div className="buttons">
                {isNarrowed(typed) && <Link to="/audit">Clear filters</Link>}
                <button type="submit" className="primary" aria-busy={entries.isPlaceholderData}>
                  Search
                </button>
                <Csv
                  name="audit"
                  what="every entry that matches"
                  header={[...csv_header]}
                  pages={() => all(client, filter)}
                />
              </div>
            </div>
          </form>
        </details>
      </search>
      <Loaded query={entries} lines={8} as="rows">
        {({ data, pagination: { total_items } }) => (
          <>
            {data.length > 0 && (
              <Table
                of="entries"
                rows={data}
                columns={audit_columns}
                idOf={({ chain, sequence }) => `${chain} ${sequence}`}
                isPart
              />
            )}
            {total_items === 0 && (
              <Nothing
                icon={ScrollText}
                title={noneText(typed)}
                action={
                  isNarrowed(typed) ? (
                    <ClearFilters clear={() => go('/audit', { replace: true })} />
                  ) : (
                    <button type="button" onClick={() => go(`/audit/${encoded('callers=all')}`, { replace: true })}>
                      Show the service's own
                    </button>
                  )
                }
              >
                {isNarrowed(typed) ? 'Change the filters, or show all.' : 'What a caller does is listed here at once.'}
              </Nothing>
            )}
            <Pages of="entries" page={page} last={Math.ceil(total_items / per_page)} total={total_items} go={setPage} />
          </>
        )}
      </Loaded>
    </>
  )
}

/** Names what was filtered by. */
function noneText({ outcome, after, before, ...typed }: Typed): string {
  const texts = text_fields.flatMap(([name, title]) => (typed[name] ? `${title.toLowerCase()} “${typed[name]}”` : []))
  const period = after || before ? ' in this period' : ''
  return `No ${outcome ? `${outcome} entry` : 'entry'}${texts.length > 0 ? ` with ${texts.join(', ')}` : ''}${period}`
}

/** Whether more is chosen than at first. */
const isNarrowed = ({ callers: _, ...others }: Typed) => Object.keys(others).length > 0

/** The address has the times in UTC. */
function filterOf({ operation, outcome, callers, after, before, ...same }: Typed): Filter {
  const at = (text: string | undefined) => {
    const ms = Date.parse(text ?? '')
    return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
  }
  return given({
    ...same,
    operation: operation && operationOf(operation),
    outcome: outcome === 'refused' || outcome === 'succeeded' ? outcome : undefined,
    caller: same.caller === callerName('environment') ? 'environment' : same.caller,
    callers: callers === 'others' ? callers : undefined,
    after: at(after),
    before: at(before),
  }) as Filter
}

/** Entries up to now: later ones would move the pages. */
async function* all(client: RelayerClient, filter: Filter): AsyncIterable<unknown[][]> {
  const before = filter.before ?? new Date().toISOString()
  for (let page = 1; ; page += 1) {
    const query = { ...filter, before, page, per_page: 1_000 }
    const { data, pagination } = await client.get('/api/v1/audit', { query })
    yield data.map((entry) => csv_header.map((name) => entry[name]))
    if (page * 1_000 >= pagination.total_items) return
  }
}
