import { toFailure } from '../../server/api/http/errors.ts'
import { oneByOne } from '../../server/store/queries/database.ts'
import { connect } from '../../server/store/sqlite/connection.ts'

// A process of failing-disk.test.ts, with a limit on the size of its files: repeatedly commits two changes together until that fails, and
// writes a DiskFailure to standard output.

export interface DiskFailure {
  /** Codes of the errors that `broken` was called with. */
  broken: string[]
  /** How often a change was made that was requested last. */
  tries: number
  errors: { name: string; headers: object; details: unknown }[]
}

if (import.meta.main) {
  const broken: string[] = []
  const connection = connect(process.argv[2] as string, {
    broken: (error) => void broken.push((error as { code: string }).code),
  })
  const insert = connection.db.prepare('INSERT INTO transaction_data (data) VALUES (zeroblob(100000))')
  let tries = 0
  const change = oneByOne(
    () => ({}),
    async () => {
      tries += 1
      insert.run()
    },
  )
  const add = () => connection.groupCommit(change, undefined)
  let outcomes: PromiseSettledResult<void>[]
  do {
    tries = 0
    outcomes = await Promise.allSettled([add(), add()])
  } while (outcomes.every(({ status }) => status === 'fulfilled'))
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  const failure: DiskFailure = {
    broken,
    tries,
    errors: errors.map((error) => {
      const { headers, body } = toFailure(error, { request_id: 'test', caller: undefined })
      return { name: error.constructor.name, headers, details: body.details }
    }),
  }
  process.stdout.write(JSON.stringify(failure))
}
