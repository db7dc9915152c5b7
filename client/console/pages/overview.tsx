import { useState } from 'react'
import { Link } from 'wouter'
import type { Relayer } from '../../index.ts'
import { age, amount, count, words } from '../data/format.ts'
import { useRelayers, useStatuses, useSymbols } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { ActivityCharts } from '../parts/activity.tsx'
import { Badge } from '../parts/badge.tsx'
import { Bulk, type Choice, useChoice } from '../parts/bulk.tsx'
import { CreateRelayer } from '../parts/create-relayer.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { RelayerLink, transactionPath } from '../parts/links.tsx'
import { Pages } from '../parts/pages.tsx'
import { Problems } from '../parts/problems.tsx'

const per_page = 25

type Rows = NonNullable<ReturnType<typeof useRelayers>['data']>['rows']

/** Problems come first. */
export function Overview() {
  const [page, setPage] = useState(1)
  const relayers = useRelayers(page, per_page)
  const choice = useChoice(({ id }: Relayer) => id)
  return (
    <>
      <Heading name="Overview" />
      <Problems />
      <section aria-labelledby="relayers">
        <div className="bar">
          <h2 id="relayers">Relayers</h2>
          <CreateRelayer />
        </div>
        <Loaded query={relayers}>
          {({ rows, pagination: { total_items } }) =>
            total_items === 0 ? (
              <FirstSteps />
            ) : (
              <>
                {choice.items.length > 0 && <Chosen choice={choice} />}
                <Relayers rows={rows} choice={choice} />
                <Pages
                  of="relayers"
                  page={page}
                  last={Math.ceil(total_items / per_page)}
                  total={total_items}
                  go={setPage}
                />
              </>
            )
          }
        </Loaded>
      </section>
      <ActivityCharts />
    </>
  )
}

function FirstSteps() {
  const { mayManageAll } = useSession()
  if (!mayManageAll) return <p>This API key has access to no relayers.</p>
  return (
    <ol>
      <li>
        <Link to="/networks">Create a network</Link> with the URLs of its nodes.
      </li>
      <li>Create a relayer on it, with the button above: a new key is made for it.</li>
      <li>Send funds to the relayer's address.</li>
      <li>
        <Link to="/sandbox">Sign a message or send a transaction</Link> with it.
      </li>
    </ol>
  )
}

/** What can be done with several relayers. */
function Chosen({ choice }: { choice: Choice<Relayer> }) {
  const { client } = useSession()
  const set = (paused: boolean) => ({
    items: choice.items,
    nameOf: ({ id }: Relayer) => id,
    run: ({ id }: Relayer) =>
      client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: id }, body: { paused } }),
  })
  return (
    <section className="bar chosen" aria-label="Chosen relayers">
      <span>{count(choice.items.length)} chosen</span>
      <Bulk
        {...set(true)}
        label="Pause chosen"
        tone="danger"
        effect={<p>They sign and send nothing until they are resumed. What a node already has may still be mined.</p>}
      />
      <Bulk
        {...set(false)}
        label="Resume chosen"
        tone="primary"
        effect={<p>They sign and send again, and their waiting transactions continue.</p>}
      />
      <button type="button" onClick={() => choice.set([])}>
        Choose none
      </button>
    </section>
  )
}

function Relayers({ rows, choice }: { rows: Rows; choice: Choice<Relayer> }) {
  const { may } = useSession()
  const statuses = useStatuses(rows.map(({ relayer }) => relayer.id))
  const symbolOf = useSymbols()
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            {may('manage') && (
              <th>
                <input
                  type="checkbox"
                  aria-label="Choose all of this page"
                  checked={rows.every(({ relayer }) => choice.has(relayer))}
                  onChange={({ target }) => choice.set(target.checked ? rows.map(({ relayer }) => relayer) : [])}
                />
              </th>
            )}
            <th>Relayer</th>
            <th>State</th>
            <th>Network</th>
            <th className="number">Balance</th>
            <th className="number">Unfinished</th>
            <th>First in line</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ relayer, queue }) => {
            const { id, network, paused, system_disabled, disabled_reason } = relayer
            const { unfinished = 0, first = null } = queue ?? {}
            const status = statuses.get(id)
            return (
              <tr key={id}>
                {may('manage') && (
                  <td>
                    <input
                      type="checkbox"
                      aria-label={`Choose ${id}`}
                      checked={choice.has(relayer)}
                      onChange={() => choice.toggle(relayer)}
                    />
                  </td>
                )}
                <td>
                  <RelayerLink id={id} />
                </td>
                <td title={disabled_reason ?? undefined}>
                  <Badge state={system_disabled ? 'disabled' : paused ? 'paused' : 'active'} />
                </td>
                <td>{network}</td>
                <td className="number">{status ? amount(status.balance, symbolOf(network)) : '…'}</td>
                <td className="number">{count(unfinished)}</td>
                <td>
                  {first ? (
                    <Link to={transactionPath({ relayer_id: id, id: first.transaction_id })}>
                      {first.waiting_for === null ? words(first.status) : `waits: ${words(first.waiting_for)}`},{' '}
                      {age(first.created_at)}
                    </Link>
                  ) : (
                    '–'
                  )}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
