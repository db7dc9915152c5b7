import { useQuery } from '@tanstack/react-query'
import type { ServiceState } from '../../index.ts'
import { age, count, inCoins } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { Badge } from '../parts/badge.tsx'
import { Loaded, Problem } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Moment } from '../parts/moment.tsx'
import { type Column, Table } from '../parts/table.tsx'

const poll_ms = 5_000
const megabyte = 1_048_576
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
            {its.servers.length > 0 && <Servers its={its} />}
            <Incidents its={its} />
          </>
        )}
      </Loaded>
    </>
  )
}

function Facts({ its }: { its: ServiceState }) {
  const figures: [string, string][] = [
    ['Server', its.name],
    ['Version', its.version],
    ['Node.js', its.node_version],
    ['Runs for', age(its.started_at)],
    ['Memory', `${count(Math.round(its.memory_bytes / megabyte))} MB`],
    ['Database', `${engines[its.database.engine]} ${its.database.version}`],
    ['Its size', `${count(Math.round(its.database.bytes / megabyte))} MB`],
  ]
  return (
    <>
      {its.not_ready.map(({ path, message }) => (
        <Problem key={path}>
          Not ready: {path} {message}
        </Problem>
      ))}
      <dl className="figures">
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  )
}

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
  { name: 'State', by: ({ state }) => state, cell: ({ state }) => <Badge state={state} /> },
  { name: 'Since', by: ({ started_at }) => started_at, cell: ({ started_at }) => <Moment at={started_at} /> },
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

const Incidents = ({ its: { incidents, started_at, servers } }: { its: ServiceState }) => (
  <section aria-labelledby="incidents">
    <h2 id="incidents">Incidents</h2>
    <p className="hint">
      Since <Moment at={started_at} />
      {servers.length > 1 && ', as this server noticed them'}.
    </p>
    {incidents.length === 0 ? (
      <p>None.</p>
    ) : (
      <ol className="timeline">
        {incidents.map(({ at, severity, subject, text }) => (
          <li key={`${at} ${subject} ${text}`} className={severity === 'error' ? 'bad' : undefined}>
            <Moment at={at} /> <Badge state={severity} /> <strong>{subject}</strong>
            <div className="answer">{inCoins(text, 'coins')}</div>
          </li>
        ))}
      </ol>
    )}
  </section>
)
