import { existsSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Config, isPostgresUrl, postgresUrlFault, readConfig } from '../config.ts'
import { movedFile } from '../domain/settings.ts'
import type { Unlocked } from '../keys/master-key.ts'
import { sync } from '../lib/durable-file.ts'
import { readSecretFiles } from '../secret-files.ts'
import { StoreError } from '../store/queries/database.ts'
import type { Connection } from '../store/sqlite/connection.ts'
import { moveRows } from '../store/transfer/move-rows.ts'
import { CommandError, pickKeySettings, runCommand, sqliteDatabase, UsageError } from './command.ts'
import { type KeyConfig, open, openDatabaseVault, secretsOf } from './open-secrets.ts'

const usage = `Usage, with every service on both databases stopped, and MASTER_KEY or DATA_DIR as the service has them:
  npm run move-database -- --from sqlite:FILE [--to postgres://USER:PASSWORD@HOST/DATABASE]
Without --to, the target is DATABASE_URL or DATABASE_URL_FILE, which other users of the machine cannot see.`

type Source = KeyConfig & Pick<Config, 'database'>

/**
 * Moves a SQLite database to an empty PostgreSQL database. An interrupted run has changed nothing, or needs one more run to rename the
 * file. Resolves to the report; throws CommandError.
 */
export async function moveDatabase(from: Source, to: string): Promise<string> {
  const file = sourceFile(from)
  const aside = movedFile(file)
  const connection = open(file)
  try {
    const { vault } = await unlock(connection, from)
    const moved = await moveRows(connection.db, to, vault)
    const report =
      moved === 'already'
        ? 'An earlier run has moved all rows.'
        : `${moved.rows} rows of ${moved.tables} tables are in PostgreSQL. Checked: the number of rows of each table, all nonce counters, \
the ${moved.audit_entries} entries of the audit trail, the MACs of rows that grant rights, and all ${moved.secrets} secrets.`
    return `${report} ${putAside(connection, file, aside)}
Start the service with DATABASE_URL set to the PostgreSQL database, and with the same master key.`
  } catch (error) {
    throw error instanceof StoreError ? new CommandError(error.message) : error
  } finally {
    connection.close()
  }
}

function sourceFile({ database }: Source): string {
  if (database.type === 'sqlite' && existsSync(movedFile(database.file))) {
    const aside = movedFile(database.file)
    throw new CommandError(
      existsSync(database.file)
        ? `${aside} exists already; move it to another place first`
        : `There is no database ${database.file}; ${aside} is the file of a database that was moved`,
    )
  }
  return sqliteDatabase({ database }, `The source must be a SQLite file.\n${usage}`)
}

async function unlock(connection: Connection, source: Source): Promise<Unlocked> {
  const { masterKeyCheck, faults } = secretsOf(connection)
  const held = await masterKeyCheck()
  const unlocked = held && (await openDatabaseVault(source, held))
  if (!unlocked)
    throw new CommandError('The database is encrypted under another master key; set MASTER_KEY or DATA_DIR')
  if (!unlocked.is_protected) throw new CommandError('The rows carry no MAC yet; start the service once')
  if ((await faults(unlocked.vault)).length > 0)
    throw new CommandError('Another program changed rows that grant rights: list them with `npm run rights -- verify`')
  return unlocked
}

/** A service that starts on the old file would use the same nonces again. */
function putAside({ db }: Connection, file: string, aside: string): string {
  try {
    // All of it is in one file then.
    db.pragma('journal_mode = DELETE')
    renameSync(file, aside)
    sync(dirname(file))
    return `The old file is ${aside} now: no service must use it again.`
  } catch (error) {
    return `The old file could not be renamed (${(error as Error).message}): rename ${file} yourself, because no service must use it again.`
  }
}

function readTarget(): string | undefined {
  const { values, faults } = readSecretFiles(process.env, ['DATABASE_URL'])
  if (faults.length > 0) throw new CommandError(faults.join('\n'))
  return values.DATABASE_URL ?? process.env.DATABASE_URL
}

if (import.meta.main) {
  const options = { from: { type: 'string' }, to: { type: 'string' } } as const
  await runCommand({ usage, options }, async ({ values, positionals }) => {
    const { from, to = readTarget() } = values
    if (from === undefined || positionals.length > 0) throw new UsageError()
    if (to === undefined || !isPostgresUrl(to))
      throw new UsageError('The target must be a URL that begins with postgres://')
    const fault = postgresUrlFault(to)
    if (fault) throw new CommandError(`The target ${fault}`)
    return moveDatabase(readConfig({ ...pickKeySettings(), DATABASE_URL: from, DATABASE_URL_FILE: undefined }), to)
  })
}
