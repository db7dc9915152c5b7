import type { ServiceState } from '../../index.ts'
import { Loaded, Problem } from '../components/feedback.tsx'
import { Heading } from '../components/page.tsx'
import { ageColumn, type Column, countColumn, stateColumn, Table, timeColumn } from '../components/table.tsx'
import { Age, Badge, Figures, Lasting, RowTime } from '../components/values.tsx'
import { count, reasonText, short, words } from '../data/format.ts'
import { useGet } from '../data/get.ts'
import { useAddressNames } from '../data/resources.ts'
import { toneOf } from '../data/statuses.ts'
import { duration, zoneShortly } from '../data/times.ts'

const [kilobyte, megabyte] = [1_024, 1_048_576]
const size = (bytes: number): string =>
  bytes < megabyte ? `${count(Math.ceil(bytes / kilobyte))} KB` : `${count(Math.round(bytes / megabyte))} MB`
const engines = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const

/** The server that answers, its database, the servers beside it, and what it noticed since its start. */
export const Service = () => (
  <>
    <Heading name="Service" />
    <Loaded query={useGet('/api/v1/service', {}, { pollMs: 5_000 })} lines={6}>
      {(state) => (
        <>
          <Facts {...state} />
          <KeyServices {...state} />
          {state.servers.length > 0 && <Servers {...state} />}
          <Incidents {...state} />
        </>
      )}
    </Loaded>
  </>
)

function Facts({ not_ready, started_at, database, ...state }: ServiceState) {
  return (
    <>
      {not_ready.map(({ path, message }) => (
        <Problem key={path}>
          Not ready: {path} {message}
        </Problem>
      ))}
      <section className="card" aria-label="This server">
        <Figures
          of={{
            Status: <Badge state={not_ready.length === 0 ? 'ready' : 'not ready'} />,
            Server: state.name.replace(/ (?=\d+$)/, ', process '),
            'Running for': <Lasting since={started_at} />,
            Version: state.version,
            'Node.js': state.node_version,
            Memory: size(state.memory_bytes),
            'Work is delayed by': duration(state.event_loop_ms),
            Database: `${engines[database.engine]} ${database.version}`,
            'Database size': size(database.size_bytes),
            'Database answers in': duration(database.response_ms),
          }}
        />
      </section>
    </>
  )
}

type KeyService = ServiceState['key_services'][number]

const keyColumns: Column<KeyService>[] = [
  { name: 'Key service', by: ({ type }) => type, cell: ({ type }) => words(type) },
  {
    name: 'Status',
    isBeside: true,
    by: ({ failing }) => failing.length,
    cell: ({ failing }) => <Badge state={failing.length === 0 ? 'working' : 'failing'} />,
  },
  countColumn('Calls', ({ calls_count }) => calls_count),
  countColumn('Failed', ({ failed_calls_count }) => failed_calls_count),
  ageColumn('Last call', ({ last_call_at }) => last_call_at),
  {
    name: 'Last error',
    cell: ({ last_error }) =>
      last_error && (
        <>
          {last_error.message} <span className="hint">(</span>
          <Named address={last_error.address} />
          <span className="hint">
            , <Age of={last_error.at} />)
          </span>
        </>
      ),
  },
]

function Named({ address }: { address: string }) {
  const named = useAddressNames()(address)
  return named ? named.name : <code title={address}>{short(address)}</code>
}

const KeyServices = ({ key_services }: ServiceState) => (
  <section aria-labelledby="key-services">
    <h2 id="key-services">Key services</h2>
    <Table
      of="key services"
      rows={key_services}
      columns={keyColumns}
      idOf={({ type }) => type}
      none={<p className="hint">No key service has signed since this server started. Add one with a signer.</p>}
    />
  </section>
)

const serverColumns: Column<ServiceState['servers'][number]>[] = [
  { name: 'Server', by: ({ name }) => name, cell: ({ name, is_this }) => (is_this ? `${name} (this one)` : name) },
  stateColumn(({ status }) => status),
  timeColumn('Started', ({ started_at }) => started_at, { by: ({ started_at }) => started_at }),
  countColumn('Sends for relayers', ({ relayers_count }) => relayers_count),
]

const Servers = ({ servers }: ServiceState) => (
  <section aria-labelledby="servers">
    <h2 id="servers">Servers</h2>
    <Table
      of="servers"
      rows={servers}
      columns={serverColumns}
      idOf={({ name, started_at }) => `${name} ${started_at}`}
    />
  </section>
)

const Incidents = ({ incidents }: ServiceState) => (
  <section aria-labelledby="incidents">
    <h2 id="incidents">Incidents</h2>
    {incidents.length === 0 ? (
      <p className="hint">None. Faults of nodes, key services and relayers are listed here and kept across restarts.</p>
    ) : (
      <>
        <p className="hint">
          Faults of nodes, key services and relayers, as the servers noticed them. Kept across restarts. Times are in{' '}
          {zoneShortly()}.
        </p>
        <ol className="timeline card incidents">
          {incidents.map(({ at, severity, server, subject, message: text }) => (
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
