import { ScrollText } from 'lucide-react'
import { Link } from 'wouter'
import type { AuditEntry, RelayerClient } from '../../index.ts'
import { Change } from '../components/change.tsx'
import { Csv } from '../components/csv.tsx'
import { ClearFilters, EmptyState, Loaded } from '../components/feedback.tsx'
import { Select } from '../components/fields.tsx'
import { Filters, LateField, Matches, PeriodFields, periodIn, Segments } from '../components/filters.tsx'
import { memberValue } from '../components/members.ts'
import { Heading } from '../components/page.tsx'
import { type Column, Pages, Table, usePage } from '../components/table.tsx'
import {
  Badge,
  CallerName,
  Copyable,
  CopyButton,
  Identifier,
  NetworkLink,
  RelayerLink,
  RowTime,
} from '../components/values.tsx'
import { useAddressState } from '../data/address-state.ts'
import { given } from '../data/form.ts'
import { count, counted, sentence, words } from '../data/format.ts'
import { useAnswer, useGet } from '../data/get.ts'
import { type Find, paths } from '../data/paths.ts'
import { callerOf, useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { operationOf, operationText } from './operations.ts'
import { useSubject } from './subject.ts'

const perPage = 50
const outcomes = ['all', 'succeeded', 'refused'] as const
/** What is shown at first: the entries of the service are hidden. */
const start = {
  ...{
    outcome: 'all',
    caller: '',
    operation: '',
    relayer_id: '',
    subject: '',
    service: 'excluded',
    after: '',
    before: '',
  },
} as const
type Typed = { [Name in Exclude<keyof typeof start, 'outcome'>]: string } & { outcome: (typeof outcomes)[number] }
type Filter = Partial<Omit<Typed, 'outcome' | 'service' | 'after' | 'before'>> & {
  outcome?: 'succeeded' | 'refused'
  exclude_service?: true
  created_after?: string
  created_before?: string
}
const textFields = [
  ['operation', 'Operation', 'edit relayer'],
  ['relayer_id', 'Relayer', 'ID'],
  ['subject', 'Subject', 'ID or digest'],
] as const
const lessUsed = ['operation', 'relayer_id', 'subject', 'service'] as const
/** The service records its own actions too. */
const ofCallers: [string, string] = ['entry by callers', 'entries by callers']
const csvHeader = [
  ...(['chain', 'sequence', 'created_at', 'caller', 'operation', 'relayer_id', 'subject', 'http_status'] as const),
  ...(['request_id', 'count', 'subject_name', 'caller_name'] as const),
]
/** After those. */
const csvDetails = ['failure', 'changes']

/** The audit trail with its filters, which are in the page's address. */
export function Audit({ find }: Find) {
  const { client } = useSession()
  const [typed, choose] = useAddressState(paths.audit, find, { ...start, outcome: outcomes })
  const [page, setPage] = usePage(find)
  const filter = filterOf(typed)
  const { created_after: after, created_before: before } = filter
  const entries = useAnswer('/api/v1/audit', { query: { ...filter, page, per_page: perPage } }, { keepsPrevious: true })

  function apply(form: HTMLFormElement) {
    const period = periodIn(form)
    const texts = [...new FormData(form)].map(([name, text]) => [name, String(text).trim()])
    choose({ ...Object.fromEntries(texts), after: period.after ?? '', before: period.before ?? '' })
  }

  return (
    <>
      <Heading name="Audit" />
      <Filters
        apply={apply}
        set={lessUsed.filter((name) => typed[name] !== start[name]).length}
        more={<LessUsedFilters typed={typed} />}
      >
        <Segments label="Result" values={outcomes} value={typed.outcome} choose={(outcome) => choose({ outcome })} />
        <LateField title="Caller" name="caller" placeholder="Caller: API key, service" value={typed.caller} isInRow />
        <PeriodFields period={{ ...(after && { after }), ...(before && { before }) }} />
      </Filters>
      <Loaded query={entries} lines={8} as="rows">
        {({ data, pagination: { total_items } }) =>
          total_items === 0 ? (
            <NoEntries typed={typed} choose={choose} />
          ) : (
            <>
              <Matches total={total_items} of={typed.service === 'excluded' ? ofCallers : ['entry', 'entries']}>
                <Csv
                  name="audit"
                  what="every entry that matches"
                  header={[...csvHeader, ...csvDetails]}
                  pages={() => readAll(client, filter)}
                />
              </Matches>
              <Table
                of="entries"
                rows={data}
                columns={columns}
                idOf={({ chain, sequence }) => `${chain} ${sequence}`}
                isPart
              />
              <Pages of="entries" page={page} per_page={perPage} total={total_items} go={setPage} />
            </>
          )
        }
      </Loaded>
      <TrailHead />
    </>
  )
}

const LessUsedFilters = ({ typed }: { typed: Typed }) => (
  <>
    {textFields.map(([name, title, example]) => (
      <LateField key={name} title={title} name={name} placeholder={example} value={typed[name]} />
    ))}
    <Select
      label="Entries of the service"
      values={[
        ['excluded', 'hidden'],
        ['listed', 'shown'],
      ]}
      key={typed.service}
      name="service"
      defaultValue={typed.service}
    />
  </>
)

function NoEntries({ typed, choose }: { typed: Typed; choose(changes: Partial<Typed>): void }) {
  const isNarrowed = Object.entries(start).some(([name, value]) => typed[name as keyof Typed] !== value)
  const action = isNarrowed ? (
    <ClearFilters clear={() => choose({ ...start, outcome: 'all' })} />
  ) : (
    <button type="button" onClick={() => choose({ service: 'listed' })}>
      Show the entries of the service
    </button>
  )
  return (
    <EmptyState icon={ScrollText} title={noneText(typed)} action={action}>
      {isNarrowed ? 'Change the filters, or show all.' : 'What callers do appears here at once.'}
    </EmptyState>
  )
}

/** How the whole trail is verified. */
const TrailHead = () => (
  <Loaded query={useGet('/api/v1/audit/head', {})} lines={1}>
    {({ entries_count, hash, chains }) => (
      <p className="hint">
        The trail has {counted(entries_count, 'entry', 'entries')} in{' '}
        {chains.length > 1 ? `${chains.length} hash chains` : 'one hash chain'}, those of the service included.{' '}
        <code>npm run audit -- verify</code> checks them and must print this head: <Copyable value={hash} />
      </p>
    )}
  </Loaded>
)

/** Names what was filtered by. */
function noneText({ outcome, after, before, ...typed }: Typed): string {
  const names = [['caller', 'Caller'] as const, ...textFields]
  const texts = names.flatMap(([name, title]) => (typed[name] ? `${title.toLowerCase()} “${typed[name]}”` : []))
  const period = after || before ? ' in this period' : ''
  return `No ${outcome === 'all' ? 'entry' : `${outcome} entry`}${texts.length > 0 ? ` with ${texts.join(', ')}` : ''}${period}`
}

/** The address has the times in UTC. */
function filterOf({ operation, outcome, service, after, before, ...same }: Typed): Filter {
  const at = (text: string) => {
    const ms = Date.parse(text)
    return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
  }
  return given({
    ...same,
    operation: operation && operationOf(operation),
    outcome: outcome === 'all' ? undefined : outcome,
    caller: callerOf(same.caller),
    exclude_service: service === 'excluded' ? true : undefined,
    created_after: at(after),
    created_before: at(before),
  }) as Filter
}

/** Entries up to now: later ones would move the pages. */
async function* readAll(client: RelayerClient, filter: Filter): AsyncIterable<unknown[][]> {
  const before = filter.created_before ?? new Date().toISOString()
  for (let page = 1; ; page += 1) {
    const query = { ...filter, created_before: before, page, per_page: 1_000 }
    const { data, pagination } = await client.get('/api/v1/audit', { query })
    yield data.map((entry) => [...csvHeader.map((name) => entry[name]), entry.failure?.message, changesText(entry)])
    if (page * 1_000 >= pagination.total_items) return
  }
}

const columns: Column<AuditEntry>[] = [
  {
    name: 'Time',
    isTime: true,
    isPlain: true,
    cell: ({ created_at, sequence }) => (
      <>
        <RowTime at={created_at} /> <span className="hint">#{count(sequence)}</span>
      </>
    ),
  },
  {
    name: 'Caller',
    isPlain: true,
    isWhole: true,
    cell: ({ caller, caller_name }) => <CallerName caller={caller} name={caller_name} />,
  },
  {
    name: 'Operation',
    isWhole: true,
    isName: true,
    cell: (entry) => (
      <>
        <span title={entry.operation}>{operationText(entry.operation)}</span>
        {(entry.failure || entry.changes.length > 0) && <Details entry={entry} />}
      </>
    ),
  },
  {
    name: 'Relayer',
    isWhole: true,
    isPlain: true,
    cell: ({ relayer_id }) => (relayer_id === null ? null : <RelayerLink id={relayer_id} />),
  },
  {
    name: 'Subject',
    isPlain: true,
    cell: (entry) => entry.subject && <Subject entry={entry} subject={entry.subject} />,
  },
  {
    name: 'Result',
    isWhole: true,
    isBeside: true,
    cell: ({ http_status, count: times }) => (
      <span title={`HTTP ${http_status}`}>
        {http_status >= 400 && <Badge state="refused" />}
        {times > 1 && ` × ${count(times)}`}
      </span>
    ),
  },
]

/** Why it was refused, and what it changed. */
function Details({ entry: { failure, changes, ...entry } }: { entry: AuditEntry }) {
  const { network } = useSubject(entry)
  const symbol = useSymbols()(network)
  const asset = changes.find(({ member }) => member === 'asset')
  const of = (json?: string | null) => ({ symbol, asset: json === '"coin"' ? 'coin' : undefined })
  return (
    <ul className="plain hint changes">
      {failure && <li>{sentence(failure.message || words(failure.code))}</li>}
      {changes.map(({ member, before, after }) => (
        <li key={member}>
          <Change
            member={member}
            before={jsonText(member, before, of(asset?.before))}
            after={jsonText(member, after, of(asset?.after))}
          />
        </li>
      ))}
    </ul>
  )
}

/** A text that was cut is no JSON. */
function jsonText(member: string, json: string | null, of: Parameters<typeof memberValue>[2]): string {
  try {
    return memberValue(member, json === null ? null : JSON.parse(json), of)
  } catch {
    return json ?? ''
  }
}

const changesText = ({ changes }: AuditEntry): string =>
  changes.map(({ member, before, after }) => `${member}: ${before ?? 'none'} → ${after ?? 'none'}`).join('; ')

/** What the entry is about, by its name and with its page where it has one; a digest as it is. */
function Subject({ entry, subject }: { entry: AuditEntry; subject: string }) {
  const { name, to } = useSubject(entry)
  if (entry.operation.endsWith('Network') && to !== undefined && name !== undefined) return <NetworkLink name={name} />
  if (to === undefined) return name === undefined ? <Copyable value={subject} /> : name
  return (
    <span className="copyable">
      <Link to={to} title={subject}>
        <Identifier value={name ?? subject} />
      </Link>
      {name !== subject && <CopyButton text={subject} label={`Copy ${subject}`} />}
    </span>
  )
}
