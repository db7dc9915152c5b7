import pLimit from 'p-limit'
import { BoundedMap } from '../core/bounded-map.ts'
import { withTimeout } from '../with-timeout.ts'

interface Seen<Value> {
  at: number
  value?: Value
  error?: string
}

/** Answers that are looked at again: each is kept for `fresh_ms`, and a failed question for a sixth of it. */
export interface LastSeen<Value> {
  /** The answers by key, as far as they come within `patience_ms`; a later call has the others. A failure is its message. */
  read<Key extends string>(questions: ReadonlyMap<Key, () => Promise<Value>>): Promise<Map<Key, Value | Error>>
}

const max_known = 10_000
const max_at_once = 100
const patience_ms = 2_000
const late = () => new Error('not answered yet')

/** `elapsed`: a monotonic clock in milliseconds. */
export function createLastSeen<Value>(fresh_ms: number, elapsed: () => number): LastSeen<Value> {
  const known = new BoundedMap<string, Seen<Value>>(max_known)
  const asking = new Map<string, Promise<void>>()
  const limit = pLimit(max_at_once)

  function ask(key: string, question: () => Promise<Value>): Promise<void> {
    const running = asking.get(key)
    if (running) return running
    const asked = limit(question)
      .then(
        (value) => void known.set(key, { at: elapsed(), value }),
        (error: Error) => void known.set(key, { at: elapsed(), error: error.message }),
      )
      .finally(() => asking.delete(key))
    asking.set(key, asked)
    return asked
  }

  const isFresh = ({ at, error }: Seen<Value>) => elapsed() - at < (error === undefined ? fresh_ms : fresh_ms / 6)

  return {
    async read(questions) {
      const asked = [...questions].flatMap(([key, question]) => {
        const seen = known.get(key)
        return seen && isFresh(seen) ? [] : [ask(key, question)]
      })
      await withTimeout(patience_ms, late, () => Promise.all(asked)).catch(() => undefined)
      return new Map(
        [...questions.keys()].map((key) => {
          const seen = known.get(key)
          // An answer of before stays until the next one comes, but not for long.
          if (!seen || elapsed() - seen.at > 2 * fresh_ms) return [key, late()]
          return [key, seen.error === undefined ? (seen.value as Value) : new Error(seen.error)]
        }),
      )
    },
  }
}
