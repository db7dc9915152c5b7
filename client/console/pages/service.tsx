import { useQuery } from '@tanstack/react-query'
import { Activity, KeyRound } from 'lucide-react'
import type { ServiceState } from '../../index.ts'
import { count, reasonText, short, words } from '../data/format.ts'
import { useNames } from '../data/names.ts'
import { useSession } from '../data/session.tsx'
import { toneOf } from '../data/statuses.ts'
import { age, zoneShortly } from '../data/times.ts'
import { Badge } from '../parts/badge.tsx'
import { Problem } from '../parts/callout.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Age, byAge, RowTime } from '../parts/moment.tsx'
import { Nothing } from '../parts/nothing.tsx'
import { type Column, Table } from '../parts/table.tsx'

const poll_ms = 5_000
const [kilobyte, megabyte] = [1_024, 1_048_576]
const size = (bytes: number): string =>
  bytes < megabyte ? `${count(Math.ceil(bytes / kilobyte))} KB` : `${count(Math.round(bytes / megabyte))} MB`
const engines = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const

/** The server that answers, its database, the servers beside it, and what it noticed since its start. */
export function Service() {
  const { client } = useSession()
  const state = useQuery({
    queryKey: ['service'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/service', { signal })).data,
    refetchInterval: poll_ms,
  })
  return (
    <>
      <Heading name="Service" />
      <Loaded query={state} lines={6}>
        {(its) => (
          <>
            <Facts its={its} />
            <KeyServices its={its} />
            {its.servers.length > 0 && <Servers its={its} />}
            <Incidents its={its} />
          </>
        )}
      </Loaded>
    </>
  )
}

function Facts({ its }: { its: ServiceState }) {
  const isReady = its.not_ready.length === 0
  const figures: [string, string, string][] = [
    ['Status', isReady ? 'Ready' : 'Not ready', its.name],
    ['Runs for', age(its.started_at), `version ${its.version}, Node.js ${its.node_version}`],
    ['Memory', size(its.memory_bytes), `of this process; its event loop waits ${its.event_loop_ms || '< 1'} ms`],
    [
      'Database',
      size(its.database.bytes),
      `${engines[its.database.engine]} ${its.database.version}, answers in ${its.database.response_ms || '< 1'} ms`,
    ],
  ]
  return (
    <>
      {its.not_ready.map(({ path, message }) => (
        <Problem key={path}>
          Not ready: {path} {message}
        </Problem>
      ))}
      <div className="tiles">
        {figures.map(([name, value, note]) => (
          <div key={name} className="tile">
            <span>{name}</span>
            <strong className={value === 'Not ready' ? 'bad' : undefined}>{value}</strong>
            <span>{note}</span>
          </div>
        ))}
      </div>
    </>
  )
}

type KeyService = ServiceState['key_services'][number]

const key_columns: Column<KeyService>[] = [
  { name: 'Key service', by: ({ type }) => type, cell: ({ type }) => words(type) },
  {
    name: 'Status',
    isBeside: true,
    by: ({ failing }) => failing.length,
    cell: ({ failing }) => <Badge state={failing.length === 0 ? 'working' : 'failing'} />,
  },
  { name: 'Calls', isNumber: true, by: ({ calls }) => calls, cell: ({ calls }) => count(calls) },
  {
    name: 'Failed',
    isNumber: true,
    by: ({ failed_calls }) => failed_calls,
    cell: ({ failed_calls }) => count(failed_calls),
  },
  {
    name: 'Last call',
    by: ({ last_call_at }) => byAge(last_call_at),
    cell: ({ last_call_at }) => <Age of={last_call_at} />,
  },
  {
    name: 'Last error',
    cell: ({ last_error }) =>
      last_error && (
        <>
          {last_error.reason} <span className="hint">(</span>
          <Named address={last_error.address} />
          <span className="hint">
            , <Age of={last_error.at} />)
          </span>
        </>
      ),
  },
]

function Named({ address }: { address: string }) {
  const named = useNames()(address)
  return named ? named.name : <code title={address}>{short(address)}</code>
}

const KeyServices = ({ its: { key_services } }: { its: ServiceState }) => (
  <section aria-labelledby="key-services">
    <h2 id="key-services">Key services</h2>
    {key_services.length === 0 ? (
      <Nothing icon={KeyRound} title="No key service yet">
        Each one that this server asks for a signature is listed here, with its failures.
      </Nothing>
    ) : (
      <Table of="key services" rows={key_services} columns={key_columns} idOf={({ type }) => type} />
    )}
  </section>
)

const server_columns: Column<ServiceState['servers'][number]>[] = [
  {
    name: 'Server',
    by: ({ name }) => name,
    cell: ({ name, is_this }) => (
      <>
        {name} {is_this && '(this one)'}
      </>
    ),
  },
  { name: 'Status', isBeside: true, by: ({ state }) => state, cell: ({ state }) => <Badge state={state} /> },
  {
    name: 'Since',
    isTime: true,
    by: ({ started_at }) => started_at,
    cell: ({ started_at }) => <RowTime at={started_at} />,
  },
  {
    name: 'Sends for relayers',
    isNumber: true,
    by: ({ relayers }) => relayers,
    cell: ({ relayers }) => count(relayers),
  },
]

const Servers = ({ its: { servers } }: { its: ServiceState }) => (
  <section aria-labelledby="servers">
    <h2 id="servers">Servers</h2>
    <Table
      of="servers"
      rows={servers}
      columns={server_columns}
      idOf={({ name, started_at }) => `${name} ${started_at}`}
    />
  </section>
)

const Incidents = ({ its: { incidents } }: { its: ServiceState }) => (
  <section aria-labelledby="incidents">
    <h2 id="incidents">Incidents</h2>
    {incidents.length === 0 ? (
      <Nothing icon={Activity} title="No incidents recorded">
        What a server notices of its nodes, key services and relayers is listed here, also from before its last start.
      </Nothing>
    ) : (
      <>
        <p className="hint">
          What all servers noticed, also before their last start: nodes, key services and relayers. Times are in{' '}
          {zoneShortly()}.
        </p>
        <ol className="timeline card incidents">
          {incidents.map(({ at, severity, server, subject, text }) => (
            <li key={`${at} ${subject} ${text}`} className={toneOf(severity)}>
              <RowTime at={at} /> <Badge state={severity} /> <strong>{subject}</strong>
              <div className="answer" title={`Noticed by ${server}`}>
                {reasonText(text, 'coins')}
              </div>
            </li>
          ))}
        </ol>
      </>
    )}
  </section>
)
