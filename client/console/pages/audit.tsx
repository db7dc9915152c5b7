import { useQuery } from '@tanstack/react-query'
import { ScrollText } from 'lucide-react'
import type { RelayerClient } from '../../index.ts'
import { oneOf, useChoices } from '../data/choices.ts'
import { given } from '../data/form.ts'
import { count } from '../data/format.ts'
import { callerName } from '../data/names.ts'
import { operationOf } from '../data/operations.ts'
import { useSession } from '../data/session.tsx'
import { audit_columns } from '../parts/audit-columns.tsx'
import { Csv } from '../parts/csv.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Filters, LateField, Matches } from '../parts/filters.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable } from '../parts/links.tsx'
import { ClearFilters, Nothing } from '../parts/nothing.tsx'
import { Pages, usePage } from '../parts/pages.tsx'
import { PeriodFields, periodIn } from '../parts/period.tsx'
import { Segments } from '../parts/segments.tsx'
import { Table } from '../parts/table.tsx'

const per_page = 50
const without = "without the service's own"
/** What is shown at first: the service's own actions are left out. */
const start = {
  ...{ outcome: 'all', caller: '', operation: '', relayer_id: '', subject: '', callers: 'others' },
  ...{ after: '', before: '' },
}
type Typed = typeof start
type Filter = Partial<Omit<Typed, 'outcome' | 'callers'>> & { outcome?: 'succeeded' | 'refused'; callers?: 'others' }
const outcomes = ['all', 'succeeded', 'refused'] as const
const text_fields = [
  ['operation', 'Operation', 'edit relayer'],
  ['relayer_id', 'Relayer', 'ID'],
  ['subject', 'Subject', 'ID or digest'],
] as const
const more_names = ['operation', 'relayer_id', 'subject', 'callers'] as const
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
  'count',
] as const

/** The audit trail with its filters, which are in the page's address. */
export function Audit({ find }: { find?: string | undefined }) {
  const { client } = useSession()
  const [typed, choose] = useChoices('/audit', find, start)
  const [page, setPage] = usePage(find)
  const filter = filterOf(typed)
  const { after, before } = filter
  const entries = useQuery({
    queryKey: ['audit', filter, page],
    queryFn: ({ signal }) => client.get('/api/v1/audit', { query: { ...filter, page, per_page }, signal }),
    placeholderData: (before) => before,
  })

  function apply(form: HTMLFormElement) {
    const { after = '', before = '' } = periodIn(form)
    const texts = [...new FormData(form)].map(([name, text]) => [name, String(text).trim()])
    choose({ ...Object.fromEntries(texts), after, before })
  }

  return (
    <>
      <Heading name="Audit" />
      <Filters
        apply={apply}
        set={more_names.filter((name) => typed[name] !== start[name]).length}
        more={<More typed={typed} />}
      >
        <Segments
          label="Result"
          values={outcomes}
          value={oneOf(outcomes, typed.outcome)}
          choose={(outcome) => choose({ outcome })}
        />
        <LateField title="Caller" name="caller" placeholder="Caller: API key, service" value={typed.caller} isInRow />
        <PeriodFields period={{ ...(after && { after }), ...(before && { before }) }} />
      </Filters>
      <Loaded query={entries} lines={8} as="rows">
        {({ data, pagination: { total_items } }) =>
          total_items === 0 ? (
            <None typed={typed} choose={choose} />
          ) : (
            <>
              <Matches
                total={total_items}
                of={typed.callers === 'others' ? [`entry ${without}`, `entries ${without}`] : ['entry', 'entries']}
              >
                <Csv
                  name="audit"
                  what="every entry that matches"
                  header={[...csv_header]}
                  pages={() => all(client, filter)}
                />
              </Matches>
              <Table
                of="entries"
                rows={data}
                columns={audit_columns}
                idOf={({ chain, sequence }) => `${chain} ${sequence}`}
                isPart
              />
              <Pages
                of="entries"
                page={page}
                last={Math.ceil(total_items / per_page)}
                total={total_items}
                go={setPage}
              />
            </>
          )
        }
      </Loaded>
      <Head />
    </>
  )
}

/** The filters that are used less often. */
const More = ({ typed }: { typed: Typed }) => (
  <>
    {text_fields.map(([name, title, example]) => (
      <LateField key={name} title={title} name={name} placeholder={example} value={typed[name]} />
    ))}
    <label>
      Service's own
      <select key={typed.callers} name="callers" defaultValue={typed.callers}>
        <option value="others">left out</option>
        <option value="all">listed</option>
      </select>
    </label>
  </>
)

function None({ typed, choose }: { typed: Typed; choose(changes: Partial<Typed>): void }) {
  const isNarrowed = Object.entries(start).some(([name, at_first]) => typed[name as keyof Typed] !== at_first)
  return (
    <Nothing
      icon={ScrollText}
      title={noneText(typed)}
      action={
        isNarrowed ? (
          <ClearFilters clear={() => choose(start)} />
        ) : (
          <button type="button" onClick={() => choose({ callers: 'all' })}>
            Show the service's own
          </button>
        )
      }
    >
      {isNarrowed ? 'Change the filters, or show all.' : 'What a caller does is listed here at once.'}
    </Nothing>
  )
}

/** How the whole trail is verified. */
function Head() {
  const { client } = useSession()
  const head = useQuery({
    queryKey: ['audit-head'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/audit/head', { signal })).data,
  })
  return (
    <Loaded query={head} lines={1}>
      {({ entries, hash, chains }) => (
        <p className="hint">
          {count(entries)} {entries === 1 ? 'entry' : 'entries'} in{' '}
          {chains.length > 1 ? `${chains.length} hash chains` : 'one hash chain'}. <code>npm run audit -- verify</code>{' '}
          checks all of them and must print this head: <Copyable value={hash} />
        </p>
      )}
    </Loaded>
  )
}

/** Names what was filtered by. */
function noneText({ outcome, after, before, ...typed }: Typed): string {
  const names = [['caller', 'Caller'] as const, ...text_fields]
  const texts = names.flatMap(([name, title]) => (typed[name] ? `${title.toLowerCase()} “${typed[name]}”` : []))
  const period = after || before ? ' in this period' : ''
  return `No ${outcome === 'all' ? 'entry' : `${outcome} entry`}${texts.length > 0 ? ` with ${texts.join(', ')}` : ''}${period}`
}

/** The address has the times in UTC. */
function filterOf({ operation, outcome, callers, after, before, ...same }: Typed): Filter {
  const at = (text: string) => {
    const ms = Date.parse(text)
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
