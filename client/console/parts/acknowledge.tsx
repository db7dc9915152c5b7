import { BellOff, Undo2 } from 'lucide-react'
import { useState } from 'react'
import type { Problem } from '../../index.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'

const one = '/api/v1/problems/{problem_id}/acknowledgement'
const spans = { '1 hour': 60, '8 hours': 480, '1 day': 1_440, '7 days': 10_080 } as const

/** `summary`: what all of them are about. */
export function Acknowledge({ its, summary }: { its: Problem[]; summary: string }) {
  const { client } = useSession()
  const [minutes, setMinutes] = useState<number>(spans['1 hour'])
  const [note, setNote] = useState('')
  return (
    <Action
      label="Acknowledge"
      icon={BellOff}
      tone="quiet"
      told={`“${summary}” is acknowledged.`}
      effect={<p>{summary}. Everybody sees that you deal with it, and it moves to the end of the list.</p>}
      run={() =>
        Promise.all(
          its.map(({ id }) =>
            client.put(one, {
              path: { problem_id: id },
              body: { minutes, ...(note.trim() !== '' && { note: note.trim() }) },
            }),
          ),
        )
      }
    >
      <label>
        For
        <select value={minutes} onChange={(event) => setMinutes(Number(event.target.value))}>
          {Object.entries(spans).map(([name, value]) => (
            <option key={name} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Note (optional)
        <input maxLength={200} value={note} onChange={(event) => setNote(event.target.value)} />
      </label>
    </Action>
  )
}

export function Withdraw({ its: { id, summary } }: { its: Problem }) {
  const { client } = useSession()
  return (
    <Action
      label="Withdraw"
      icon={Undo2}
      tone="quiet"
      told={`The acknowledgement is withdrawn: “${summary}” is open again.`}
      effect={<p>{summary}. It is open again, for everybody.</p>}
      run={() => client.delete(one, { path: { problem_id: id } })}
    />
  )
}
