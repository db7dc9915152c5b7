import { type Config, readConfig } from '../config.ts'
import { masterKeyFile, vaultOf } from '../secrets/master-key.ts'
import { secrets } from '../store/sqlite/secrets.ts'
import { CommandError, pickSettings, requireDatabase, runCommand } from './command.ts'
import { open } from './rotate-master-key.ts'

const usage = `Usage, with every service on the database stopped:
  npm run rights -- verify   lists the API keys, relayers, networks, notifications and signers that another program changed
  npm run rights -- accept   accepts the present content of all rows; the service trusts it from then on`

/** Verifies the rows that grant rights, or accepts their present content. Returns the report; throws CommandError. */
export function rights(config: Pick<Config, 'database_file' | 'data_dir' | 'master_key'>, verb: string): string {
  requireDatabase(config)
  const connection = open(config.database_file)
  try {
    const { proof, faults, acceptRights } = secrets(connection)
    const sealed = proof()
    const file = config.master_key === undefined ? masterKeyFile(config.data_dir) : undefined
    const unlocked = sealed && vaultOf([config.master_key ?? file?.read()], sealed)
    if (!unlocked)
      throw new CommandError('The database is encrypted under another master key; set MASTER_KEY to the right one')
    if (!unlocked.is_protected) throw new CommandError('The rows carry no MAC yet; start the service once')
    if (verb === 'accept') {
      const entry = { operation: 'acceptRights', relayer_id: null, subject: null, result: 200, request_id: null }
      const count = acceptRights(unlocked.vault, { ...entry, at: Date.now(), caller: 'command line' })
      return `${count} rows that grant rights are accepted with their present content.`
    }
    const found = faults(unlocked.vault)
    if (found.length === 0) return 'All rows that grant rights are unchanged.'
    const lines = found.map(
      ({ table, id, reason }) => `  ${table}${id === null ? '' : ` ${JSON.stringify(id)}`}: ${reason}`,
    )
    throw new CommandError(
      `Another program changed rows that grant rights:\n${lines.join('\n')}\nRestore a backup, or correct the rows and accept them.`,
    )
  } finally {
    connection.close()
  }
}

if (import.meta.main) {
  runCommand(() => {
    const [verb = '', ...more] = process.argv.slice(2)
    if (!['verify', 'accept'].includes(verb) || more.length > 0) throw new CommandError(usage)
    return rights(readConfig(pickSettings('DATA_DIR', 'DATABASE_URL', 'MASTER_KEY')), verb)
  })
}
