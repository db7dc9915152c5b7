import { type Config, readConfig } from '../config.ts'
import { masterKeyFile, vaultOf } from '../secrets/master-key.ts'
import { secrets } from '../store/sqlite/secrets.ts'
import { CommandError, pickSettings, requireDatabase, runCommand } from './command.ts'
import { open } from './rotate-master-key.ts'

const usage = `Usage, with every service on the database stopped:
  npm run rights -- verify   names the API keys, relayers, networks, notifications and signers that another program has changed
  npm run rights -- accept   takes all of them as they are; the service trusts them from then on`

/** Checks the rows that grant rights, or takes them as they are. Answers with what was found or done; throws CommandError. */
export function rights(config: Pick<Config, 'database_file' | 'data_dir' | 'master_key'>, verb: string): string {
  requireDatabase(config)
  const connection = open(config.database_file)
  try {
    const { proof, faults, acceptRights } = secrets(connection)
    const sealed = proof()
    const file = config.master_key === undefined ? masterKeyFile(config.data_dir) : undefined
    const unlocked = sealed && vaultOf([config.master_key ?? file?.read()], sealed)
    if (!unlocked) throw new CommandError('The database is encrypted under another master key')
    if (!unlocked.is_protected) throw new CommandError('The rows carry no MAC yet: start the service once')
    if (verb === 'accept') {
      const entry = { operation: 'acceptRights', relayer_id: null, subject: null, result: 200, request_id: null }
      const count = acceptRights(unlocked.vault, { ...entry, at: Date.now(), caller: 'command line' })
      return `${count} rows that grant rights are accepted as they are.`
    }
    const found = faults(unlocked.vault)
    if (found.length === 0) return 'All rows that grant rights are as the service wrote them.'
    const lines = found.map(
      ({ table, id, reason }) => `  ${table}${id === null ? '' : ` ${JSON.stringify(id)}`}: ${reason}`,
    )
    throw new CommandError(
      `Another program has changed rows that grant rights:\n${lines.join('\n')}\nPut a backup back, or correct the rows and accept them.`,
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
