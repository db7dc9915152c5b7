import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import Database from 'better-sqlite3'
import { readConfig } from '../config.ts'
import { createFile } from '../secrets/durable-file.ts'
import { CommandError, pickSettings, requireDatabase, runCommand } from './command.ts'

/**
 * Copies the database, as it is at one moment, into a new file; a service that runs on it goes on meanwhile. By VACUUM INTO, which
 * reads one snapshot: SQLite's step-by-step copy begins anew with every commit of another process, and under load never ends.
 * The copy appears under its name when it is whole, checked and on the disk. Throws CommandError.
 */
export function backup(database_file: string, file: string): void {
  requireDatabase({ database_file })
  if (existsSync(file)) throw taken(file)
  try {
    createFile(file, ({ path }) => {
      copy(database_file, path)
      check(path)
    })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw taken(file)
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EROFS' || code === 'ENOSPC') throw new CommandError(message)
    throw error
  }
}

const taken = (file: string) => new CommandError(`${file} is there already: a backup never overwrites`)

function copy(from: string, to: string): void {
  const db = new Database(from, { readonly: true, fileMustExist: true })
  try {
    db.prepare('VACUUM INTO ?').run(to)
  } finally {
    db.close()
  }
}

function check(file: string): void {
  const db = new Database(file, { readonly: true })
  try {
    const found = db.pragma('integrity_check', { simple: true })
    if (found !== 'ok') throw new CommandError(`The copy is not sound (${found}): look at the database`)
    if ((db.pragma('foreign_key_check') as unknown[]).length > 0) throw new CommandError('The copy misses rows')
  } finally {
    db.close()
  }
}

if (import.meta.main) {
  runCommand(() => {
    const [name, ...more] = process.argv.slice(2)
    if (name === undefined || more.length > 0) throw new CommandError('Say where to: npm run backup -- FILE')
    const { INIT_CWD = process.cwd() } = process.env
    // Needs no key: what is secret in the database is sealed, and stays so.
    const { database_file } = readConfig(pickSettings('DATA_DIR', 'DATABASE_URL'))
    const file = resolve(INIT_CWD, name)
    backup(database_file, file)
    return `${file} is a whole copy of ${database_file}. Keep the master key apart from it: without it the copy is worthless.`
  })
}
