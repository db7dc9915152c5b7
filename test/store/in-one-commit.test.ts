import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { oneByOne, sql } from '../../server/store/queries/database.ts'
import { GroupCommit } from '../../server/store/sqlite/commit.ts'
import { connect } from '../../server/store/sqlite/connection.ts'
import { temporaryFolder } from '../support/service.ts'

/** A table of the test's own, a clock that the test moves, and how many database transactions were committed or rolled back. */
function start() {
  let commits = 0
  const clock = { ms: 0 }
  const observer = {
    committed() {
      commits += 1
    },
  }
  const connection = connect(join(temporaryFolder(), 'test.sqlite'), { observer })
  onTestFinished(connection.close)
  const { db } = connection
  db.exec('CREATE TABLE numbers (number INTEGER PRIMARY KEY) STRICT')
  const insert = db.prepare<[number]>('INSERT INTO numbers VALUES (?)')
  const all = db.prepare<[], number>('SELECT number FROM numbers ORDER BY number').pluck()
  const add = (number: number) => Number(insert.run(number).lastInsertRowid)
  const group = new GroupCommit(connection.write, () => clock.ms)
  const groupOf = (one: (number: number) => number) => {
    const change = oneByOne(
      () => ({}),
      async (_, number: number) => one(number),
    )
    return (number: number) => group.change(change, number)
  }
  return { connection, clock, groupOf, add, rows: () => all.all(), commits: () => commits }
}

test('commits changes by several methods in one turn together', async () => {
  const { groupOf, add, rows, commits } = start()
  const [first, second] = [groupOf(add), groupOf((number) => -add(number))]
  expect(await Promise.all([first(1), second(2), first(3)])).toEqual([1, -2, 3])
  expect([rows(), commits()]).toEqual([[1, 2, 3], 1])
})

test('does not fail other changes with a failed one', async () => {
  const { groupOf, add, rows } = start()
  const one = groupOf(add)
  const answers = await Promise.allSettled([one(1), one(2), one(2), one(3)])
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  await expect(one(3)).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_PRIMARYKEY' })
  expect(rows()).toEqual([1, 2, 3])
})

test('leaves the rest to the next turn when a commit takes long', async () => {
  const { clock, groupOf, add, rows, commits } = start()
  const slow = groupOf((number) => {
    clock.ms += 11
    return add(number)
  })
  await Promise.all([1, 2, 3].map((number) => slow(number)))
  expect([rows(), commits()]).toEqual([[1, 2, 3], 3])
})

const select = sql<{ number: number }>('SELECT number FROM numbers ORDER BY number')

test('runs database transactions one after the other, whatever they wait for', async () => {
  const { connection, add } = start()
  const steps: string[] = []
  const write = (number: number, wait: () => Promise<unknown>) =>
    connection.write(async () => {
      steps.push(`begin ${number}`)
      await wait()
      add(number)
      await wait()
      steps.push(`end ${number}`)
    })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  await Promise.all([write(1, turn), write(2, async () => undefined), write(3, turn)])
  expect(steps).toEqual(['begin 1', 'end 1', 'begin 2', 'end 2', 'begin 3', 'end 3'])
})

test('reads what was committed before, while a database transaction is open', async () => {
  const { connection, add } = start()
  const seen: number[][] = []
  const look = async () => seen.push((await connection.read.all(select)).map(({ number }) => number))
  await connection.write(async (dbTransaction) => {
    add(1)
    await look()
    expect(await dbTransaction.all(select)).toEqual([{ number: 1 }])
  })
  await look()
  await expect(
    connection.write(async () => {
      add(2)
      await look()
      throw new Error('in the middle')
    }),
  ).rejects.toThrow('in the middle')
  await look()
  expect(seen).toEqual([[], [1], [1], [1]])
})

test('writes by two connections of one process wait for each other, and not for the lock of SQLite', async () => {
  const { connection, add, rows } = start()
  const other = connect(connection.db.name)
  onTestFinished(other.close)
  await Promise.all([
    connection.write(async () => void (await Promise.resolve(add(1)))),
    other.write(() => void other.db.exec('INSERT INTO numbers SELECT max(number) + 1 FROM numbers')),
  ])
  expect(rows()).toEqual([1, 2])
})

test('changes nothing after a database transaction has failed, by work that goes on', async () => {
  const { connection, rows } = start()
  const insert = sql('INSERT INTO numbers VALUES ($number)')
  const late = Promise.withResolvers<unknown>()
  const failing = connection.write(async (dbTransaction) => {
    const goOn = async () => {
      await new Promise((resolve) => setImmediate(resolve))
      await dbTransaction.run(insert, { number: 2 })
    }
    goOn().then(late.resolve, late.resolve)
    await dbTransaction.run(insert, { number: 1 })
    await dbTransaction.run(insert, { number: 1 })
  })
  await expect(failing).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_PRIMARYKEY' })
  expect(await late.promise).toMatchObject({ message: 'The database transaction has ended' })
  expect(rows()).toEqual([])
})
