import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import Database from 'better-sqlite3'
import { readConfig } from '../config.ts'
import { createFile } from '../lib/durable-file.ts'
import { CommandError, pickSettings, runCommand, sqliteDatabase, UsageError } from './command.ts'

const usage = 'Usage, while the service may run: npm run backup -- FILE'

/**
 * Copies a snapshot of the database into a new file while the service may run. It uses VACUUM INTO, because SQLite's backup API
 * restarts at every commit of another process and never ends under load. The file appears under its name after it is complete,
 * verified and on the disk. Throws CommandError.
 */
function backup(databaseFile: string, file: string): void {
  if (existsSync(file)) throw taken(file)
  try {
    createFile(file, ({ path }) => {
      copy(databaseFile, path)
      check(path)
    })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw taken(file)
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EROFS' || code === 'ENOSPC') throw new CommandError(message)
    throw error
  }
}

const taken = (file: string) => new CommandError(`${file} exists already; a backup never overwrites a file`)

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
    if (found !== 'ok') throw new CommandError(`The copy failed its integrity check (${found}); check the database`)
    if ((db.pragma('foreign_key_check') as unknown[]).length > 0)
      throw new CommandError('The copy failed its foreign key check; check the database')
  } finally {
    db.close()
  }
}

if (import.meta.main) {
  await runCommand({ usage }, ({ positionals: [name, ...more] }) => {
    if (name === undefined || more.length > 0) throw new UsageError()
    const { INIT_CWD = process.cwd() } = process.env
    // No key is needed, because secrets in the database stay encrypted.
    const config = readConfig(pickSettings('DATA_DIR', 'DATABASE_URL'))
    const databaseFile = sqliteDatabase(config, 'Back PostgreSQL up with its own tools, for instance pg_dump.')
    const file = resolve(INIT_CWD, name)
    backup(databaseFile, file)
    return `${file} is a verified copy of ${databaseFile}. Keep the master key in another place; the copy is useless without it.`
  })
}
