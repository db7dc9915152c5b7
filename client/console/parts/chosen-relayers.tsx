import { count } from '../data/format.ts'
import type { Funds } from '../data/funds.ts'
import type { useRelayers } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Bulk } from './bulk.tsx'
import type { Choice } from './choice.tsx'

export type Row = NonNullable<ReturnType<typeof useRelayers>['data']>[number] & {
  fees?: string | undefined
} & Partial<Funds>

/** What can be done with the relayers that are chosen. */
export function ChosenRelayers({ choice }: { choice: Choice<Row> }) {
  const { client } = useSession()
  const set = (paused: boolean) => ({
    choice,
    nameOf: ({ relayer: { id } }: Row) => id,
    run: ({ relayer: { id } }: Row) =>
      client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: id }, body: { paused } }),
  })
  return (
    <section className="bar chosen" aria-label="Chosen relayers">
      <span>{count(choice.items.length)} chosen</span>
      <Bulk
        {...set(true)}
        label="Pause chosen"
        did="paused"
        effect={<p>They sign and send nothing until they are resumed. What a node already has may still be mined.</p>}
      />
      <Bulk
        {...set(false)}
        label="Resume chosen"
        did="resumed"
        disabled={!choice.items.some(({ relayer }) => relayer.paused)}
        effect={<p>They sign and send again, and their waiting transactions continue.</p>}
      />
      <button type="button" onClick={() => choice.set([])}>
        Choose none
      </button>
    </section>
  )
}
