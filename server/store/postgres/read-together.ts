import { coalesce } from './coalesce.ts'

/** The name of a key that is a row id. */
export const itself = (row_id: number): number => row_id

/** The most keys of one statement. */
const max_keys = 1_000

/**
 * Reads by key, for many callers: the keys that are asked for while the previous statement is under way are read by one statement, which
 * is sent after they were asked for. So each caller sees everything that was committed before it asked. `readAll`: resolves to the found
 * values by name.
 */
export function readTogether<Key, Name, Value>(
  nameOf: (key: Key) => Name,
  readAll: (keys: Key[]) => Promise<ReadonlyMap<Name, Value>>,
): (key: Key) => Promise<Value | undefined> {
  const readCoalesced = coalesce(async (asked: { key: Key; found(value: Value | undefined): void }[]) => {
    const keys = [...new Map(asked.map(({ key }) => [nameOf(key), key])).values()]
    const values = new Map<Name, Value>()
    for (let at = 0; at < keys.length; at += max_keys) {
      for (const [name, value] of await readAll(keys.slice(at, at + max_keys))) values.set(name, value)
    }
    for (const { key, found } of asked) found(values.get(nameOf(key)))
  })
  return (key) =>
    new Promise((resolve, reject) => {
      readCoalesced([{ key, found: resolve }]).catch(reject)
    })
}
