import { randomBytes } from 'node:crypto'
import { type Config, readConfig } from '../config.ts'
import { ConfigError } from '../domain/errors.ts'
import type { MasterKeyCheck, RightsFault, WrappedKey } from '../domain/rows.ts'
import { type KeyEncryptionKey, masterKeyForms, masterKeyOf, readMasterKeySetting } from '../domain/settings.ts'
import { KeyEncryption } from '../keys/key-encryption.ts'
import { type MasterKeyFile, masterKeyFile, sealProof, vaultOf } from '../keys/master-key.ts'
import { Vault } from '../keys/secret-encryption.ts'
import { readSecretFiles } from '../secret-files.ts'
import { UntrustedRows } from '../store/queries/secrets.ts'
import { CommandError, pickKeySettings, runCommand, UsageError } from './command.ts'
import { isInFolder, type KeyConfig, openDatabaseVault, openSecrets } from './open-secrets.ts'

const usage = `Usage, with every service on the database stopped: npm run rotate-master-key
The new key is NEW_MASTER_KEY or NEW_MASTER_KEY_FILE (${masterKeyForms}); without it, one is made in the data folder.`

/** Keys come only from settings and files, because every user of the machine can see command lines. */
interface Rotation {
  config: KeyConfig & Pick<Config, 'database' | 'production'>
  new_key: Buffer | KeyEncryptionKey | undefined
}

/**
 * Encrypts all secrets under another master key, in one database transaction with exclusive access. The same database transaction
 * stores the new master key as a key service encrypts it, if there is one. If the command is interrupted, the database opens with
 * either the old or the new key, the key file is completed at the next start, and another run completes the rotation. Returns the
 * report; throws CommandError or ConfigError.
 */
export async function rotateMasterKey({ config, new_key }: Rotation): Promise<string> {
  const file = isInFolder(config) ? masterKeyFile(config.data_dir) : undefined
  const secrets = await openSecrets(config)
  try {
    const held = await secrets.masterKeyCheck()
    if (!held) throw new CommandError('The database has no encrypted secrets yet; start the service once')
    const next = new_key && { ...config, ...masterKeyOf(new_key) }
    const current = await openDatabaseVault(config, held).catch(asFault)
    if (!current || current instanceof Error) return await endUnfinished(file, held, next, current)
    if (next?.master_key && vaultOf([next.master_key], held.sealed)) {
      throw new CommandError('NEW_MASTER_KEY must differ from the current master key')
    }
    const keyEncryptionKey = next ? next.key_encryption_key : config.key_encryption_key
    if (!next && !keyEncryptionKey && (config.production || !file)) {
      throw new CommandError(`NEW_MASTER_KEY must be set, to ${masterKeyForms}`)
    }

    const key = next?.master_key ?? randomBytes(32)
    const wrapped = keyEncryptionKey ? await new KeyEncryption(keyEncryptionKey, config.vault).wrap(key) : null
    const vault = new Vault(key)
    if (!wrapped) file?.announce(key)
    const entry = { operation: 'rotateMasterKey', relayer_id: null, subject: null, http_status: 200, request_id: null }
    const rights = { from: current.is_protected ? current.vault : undefined, to: vault }
    const change = (secret: Uint8Array, row: string) => vault.seal(openOne(current.vault, secret, row), row)
    const check = { sealed: sealProof(vault), wrapped }
    const count = await secrets.reseal(change, check, rights, { ...entry, at: secrets.now(), caller: 'command_line' })
    const former = wrapped ? file?.retire() : file?.adopt()
    const left = await secrets.sweepOut()
    const rest = left === undefined ? '' : ` Old ciphertexts may still be in ${left}.`
    return `${count} secrets are encrypted under the new master key. ${placeOf(wrapped, file)}. Older backups still need the old key${former === undefined ? '' : `, which is in ${former} now: delete it with the last of them`}.${rest}`
  } catch (error) {
    if (!(error instanceof UntrustedRows)) throw error
    const [{ table, id }] = error.faults as [RightsFault]
    const first = `${table}${id === null ? '' : `:${id}`}`
    throw new CommandError(`${error.message} (${first}): list them with \`npm run rights -- verify\` first`)
  } finally {
    await secrets.close()
  }
}

function placeOf(wrapped: WrappedKey | null, file: MasterKeyFile | undefined): string {
  if (wrapped) return `${wrapped.by} encrypts it: start the service with this key as MASTER_KEY`
  return file ? `${file.path} contains it: copy it to a safe place` : 'Start the service with it as MASTER_KEY'
}

/** The current key does not open the database: an earlier run was interrupted after its commit, or the key is wrong. */
async function endUnfinished(
  file: MasterKeyFile | undefined,
  held: MasterKeyCheck,
  next: KeyConfig | undefined,
  fault: Error | undefined,
): Promise<string> {
  if (file && vaultOf([file.next()], held.sealed)) {
    file.adopt()
    return `The interrupted rotation is complete. ${file.path} contains the new master key.`
  }
  const opened = next && (await openDatabaseVault(next, held).catch(asFault))
  if (opened && !(opened instanceof Error)) {
    if (held.wrapped) file?.retire()
    return 'Everything is encrypted under NEW_MASTER_KEY already: start the service with it as MASTER_KEY.'
  }
  throw (
    fault ??
    new CommandError(`The database is encrypted under another master key than ${file ? file.path : 'MASTER_KEY'}`)
  )
}

/** An error that says why a key does not open the database. */
function asFault(error: unknown): Error {
  if (error instanceof ConfigError || error instanceof CommandError) return error
  throw error
}

function openOne(vault: Vault, sealed: Uint8Array, row: string): Uint8Array {
  try {
    return vault.open(sealed, row)
  } catch {
    throw new CommandError(`The secret of ${row} cannot be decrypted; delete the row or restore it from a backup`)
  }
}

function readNewKey(text: string | undefined): Buffer | KeyEncryptionKey | undefined {
  if (text === undefined || text === '') return undefined
  const key = readMasterKeySetting(text)
  if (key === undefined) throw new CommandError(`NEW_MASTER_KEY must be ${masterKeyForms}`)
  return key
}

if (import.meta.main) {
  await runCommand({ usage }, ({ positionals }) => {
    if (positionals.length > 0)
      throw new UsageError('The command takes no arguments, because other users can see command lines')
    const { values, faults } = readSecretFiles(process.env, ['NEW_MASTER_KEY'])
    if (faults.length > 0) throw new CommandError(faults.join('\n'))
    const { NEW_MASTER_KEY } = { ...process.env, ...values }
    const config = readConfig(pickKeySettings())
    const production = process.env.NODE_ENV === 'production'
    if (production && isInFolder(config)) throw new CommandError('MASTER_KEY must be set when NODE_ENV is production')
    return rotateMasterKey({ config: { ...config, production }, new_key: readNewKey(NEW_MASTER_KEY) })
  })
}
