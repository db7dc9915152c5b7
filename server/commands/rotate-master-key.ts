import { randomBytes } from 'node:crypto'
import { type Config, keyBytes, readConfig } from '../config.ts'
import { type MasterKeyFile, masterKeyFile, sealProof, vaultOf } from '../secrets/master-key.ts'
import { readSecretFiles } from '../secrets/secret-files.ts'
import { createVault, type Vault } from '../secrets/vault.ts'
import type { RightsFault } from '../store/rows.ts'
import { type Connection, connect } from '../store/sqlite/connection.ts'
import { secrets, UntrustedRows } from '../store/sqlite/secrets.ts'
import { StoreError } from '../store/store-error.ts'
import { CommandError, pickSettings, requireDatabase, runCommand } from './command.ts'

/** Keys come only from settings and files, because every user of the machine can see command lines. */
export interface Rotation {
  config: Pick<Config, 'database_file' | 'data_dir' | 'master_key' | 'production'>
  new_key: Buffer | undefined
}

/**
 * Encrypts all secrets under another master key, in one database transaction with exclusive access. If it is interrupted, the
 * database opens with either the old or the new key, the key file is completed at the next start, and another run completes the
 * rotation. Returns the report; throws CommandError.
 */
export function rotateMasterKey({ config, new_key }: Rotation): string {
  requireDatabase(config)
  const file = config.master_key === undefined ? masterKeyFile(config.data_dir) : undefined
  const connection = open(config.database_file)
  try {
    const { proof, reseal } = secrets(connection)
    const sealed = proof()
    if (!sealed) throw new CommandError('The database has no encrypted secrets yet; start the service once')
    const given = new_key && vaultOf([new_key], sealed)
    const current = vaultOf([config.master_key ?? file?.read()], sealed)
    if (!current) return endUnfinished(file, sealed, given !== undefined)
    if (given) throw new CommandError('NEW_MASTER_KEY is the master key already')
    if (new_key === undefined && (config.production || !file)) {
      throw new CommandError('NEW_MASTER_KEY must be set, to 32 bytes as 64 hex digits or as base64')
    }

    const key = new_key ?? randomBytes(32)
    const vault = createVault(key)
    file?.announce(key)
    const entry = { operation: 'rotateMasterKey', relayer_id: null, subject: null, result: 200, request_id: null }
    const rights = { from: current.is_protected ? current.vault : undefined, to: vault }
    const change = (secret: Uint8Array, row: string) => vault.seal(openOne(current.vault, secret, row), row)
    const count = reseal(change, sealProof(vault), rights, { ...entry, at: Date.now(), caller: 'command line' })
    file?.adopt()
    const rest = sweepOut(connection) ? '' : ' Old ciphertexts could not all be erased from the file.'
    const where = file ? `${file.path} contains it: copy it to a safe place` : 'Start the service with it as MASTER_KEY'
    return `${count} secrets are encrypted under the new master key. ${where}. Older backups still need the old key.${rest}`
  } catch (error) {
    if (!(error instanceof UntrustedRows)) throw error
    const [{ table, id }] = error.faults as [RightsFault]
    const first = `${table}${id === null ? '' : `:${id}`}`
    throw new CommandError(`${error.message} (${first}): list them with \`npm run rights -- verify\` first`)
  } finally {
    connection.close()
  }
}

/** The current key does not open the database: an earlier run was interrupted after its commit, or the key is wrong. */
function endUnfinished(file: MasterKeyFile | undefined, sealed: Uint8Array, isGivenRight: boolean): string {
  if (file && vaultOf([file.next()], sealed)) {
    file.adopt()
    return `The interrupted rotation is complete. ${file.path} contains the new master key.`
  }
  if (isGivenRight)
    return 'Everything is encrypted under NEW_MASTER_KEY already: start the service with it as MASTER_KEY.'
  throw new CommandError(`The database is encrypted under another master key than ${file ? file.path : 'MASTER_KEY'}`)
}

/** Deleted rows and old ciphertexts stay in free pages and in the WAL, where the old key could open them. */
function sweepOut({ db }: Connection): boolean {
  try {
    db.exec('VACUUM')
    db.pragma('wal_checkpoint(TRUNCATE)')
    return true
  } catch {
    return false
  }
}

function openOne(vault: Vault, sealed: Uint8Array, row: string): Uint8Array {
  try {
    return vault.open(sealed, row)
  } catch {
    throw new CommandError(`The secret of ${row} cannot be decrypted; delete the row or restore it from a backup`)
  }
}

/** Opens the database with exclusive access. Throws CommandError. */
export function open(database_file: string): Connection {
  try {
    return connect(database_file, {}, true)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const inUse = /locked|busy/.test(error.message)
    throw new CommandError(inUse ? 'The database is in use; stop every service on it first' : error.message)
  }
}

function readNewKey(text: string | undefined): Buffer | undefined {
  if (text === undefined || text === '') return undefined
  const key = keyBytes(text)
  if (key?.length !== 32) throw new CommandError('NEW_MASTER_KEY must be 32 bytes, as 64 hex digits or as base64')
  return key
}

if (import.meta.main) {
  runCommand(() => {
    if (process.argv.length > 2)
      throw new CommandError(
        'The command takes no arguments, because other users can see command lines; set NEW_MASTER_KEY',
      )
    const { values, faults } = readSecretFiles(process.env, ['NEW_MASTER_KEY'])
    if (faults.length > 0) throw new CommandError(faults.join('\n'))
    const { NEW_MASTER_KEY } = { ...process.env, ...values }
    const config = readConfig(pickSettings('DATA_DIR', 'DATABASE_URL', 'MASTER_KEY'))
    const production = process.env.NODE_ENV === 'production'
    if (production && config.master_key === undefined)
      throw new CommandError('MASTER_KEY must be set when NODE_ENV is production')
    return rotateMasterKey({ config: { ...config, production }, new_key: readNewKey(NEW_MASTER_KEY) })
  })
}
