import type { Incident } from '../../core/incident.ts'
import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { sql } from './statement.ts'

/** The row ids say how old they are: no row between them is removed. */
const max_kept = 1_000

const insert = sql(`
  INSERT INTO incidents (at, server, severity, subject, text) VALUES ($at, $server, $severity, $subject, $text)`)
const removeOld = sql(`DELETE FROM incidents WHERE row_id <= (SELECT max(row_id) FROM incidents) - ${max_kept}`)
const newest = sql<Incident>(`
  SELECT at, server, severity, subject, text FROM incidents ORDER BY row_id DESC LIMIT $limit`)

/** What servers noticed, also before their last start. */
export const incidents = ({ read, write }: Database): Pick<Store, 'addIncidents' | 'incidents'> => ({
  addIncidents: (added) =>
    write(async (transaction) => {
      for (const { at, server, severity, subject, text } of added)
        await transaction.run(insert, { at, server, severity, subject, text })
      await transaction.run(removeOld)
    }),
  incidents: (limit) => read.all(newest, { limit }),
})
