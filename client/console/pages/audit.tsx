import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { count, time } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable, RelayerLink } from '../parts/links.tsx'

const per_page = 100
const fields = ['caller', 'operation', 'relayer_id', 'subject'] as const
type Filter = Partial<Record<(typeof fields)[number], string>>

/** the audit trail with its filters. */
export function Audit() {
  const { client } = useSession()
  const [filter, setFilter] = useState<Filter>({})
  const [page, setPage] = useState(1)
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
    const given = new FormData(event.currentTarget)
    setPage(1)
    setFilter(
      Object.fromEntries(fields.map((name) => [name, String(given.get(name)).trim()]).filter(([, text]) => text)),
    )
  }

  return (
    <>
      <Heading name="Audit" />
      <Loaded query={head} lines={1}>
        {({ entries: all, hash, chains }) => (
          <p>
            {count(all)} entries in {chains.length > 1 ? `${chains.length} hash chains` : 'one hash chain'}.{' '}
            <code>npm run audit -- verify</code> checks all entries and must print this head: <Copyable value={hash} />
          </p>
        )}
      </Loaded>
      <search>
        <form className="bar" onSubmit={search}>
          {fields.map((name) => (
            <label key={name} className="inline">
              {name.replace('_id', '')}
              <input name={name} maxLength={128} {...(name === 'operation' && { pattern: '[A-Za-z]*' })} />
            </label>
          ))}
          <button type="submit">Search</button>
        </form>
      </search>
      <Loaded query={entries} lines={6}>
        {({ data, pagination: { total_items } }) => (
          <>
            <div className="scroll">
              <table>
                <thead>
                  <tr>
                    <th className="number">Entry</th>
                    <th>Time</th>
                    <th>Caller</th>
                    <th>Operation</th>
                    <th>Relayer</th>
                    <th>Subject</th>
                    <th className="number">Result</th>
                  </tr>
                </thead>
                <tbody>
                  {data.map((entry) => (
                    <tr key={`${entry.chain} ${entry.sequence}`}>
                      <td className="number">{entry.sequence}</td>
                      <td>{time(entry.at)}</td>
                      <td>{entry.caller}</td>
                      <td>{entry.operation}</td>
                      <td>{entry.relayer_id !== null && <RelayerLink id={entry.relayer_id} />}</td>
                      <td>{entry.subject !== null && <Copyable value={entry.subject} />}</td>
                      <td className="number">{entry.result}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <div className="buttons">
              <button type="button" disabled={page === 1} onClick={() => setPage(page - 1)}>
                Newer
              </button>
              <span role="status">
                {total_items === 0 ? 'No entry matches.' : `Page ${page} of ${Math.ceil(total_items / per_page)}`}
              </span>
              <button type="button" disabled={page * per_page >= total_items} onClick={() => setPage(page + 1)}>
                Older
              </button>
            </div>
          </>
        )}
      </Loaded>
    </>
  )
}
