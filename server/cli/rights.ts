import { type Config, readConfig } from '../config.ts'
import { CommandError, pickKeySettings, runCommand, UsageError } from './command.ts'
import { type KeyConfig, openDatabaseVault, openSecrets } from './open-secrets.ts'

const usage = `Usage, with every service on the database stopped:
  npm run rights -- verify   lists the API keys, relayers, pools, networks, notifications and signers that another program changed
  npm run rights -- accept   accepts the present content of all rows; the service trusts it from then on`

/** Verifies the rows that grant rights, or accepts their present content. Returns the report; throws CommandError. */
export async function rights(config: KeyConfig & Pick<Config, 'database'>, verb: string): Promise<string> {
  const secrets = await openSecrets(config)
  try {
    const held = await secrets.masterKeyCheck()
    const unlocked = held && (await openDatabaseVault(config, held))
    if (!unlocked)
      throw new CommandError('The database is encrypted under another master key; set MASTER_KEY to the right one')
    if (!unlocked.is_protected) throw new CommandError('The rows carry no MAC yet; start the service once')
    if (verb === 'accept') {
      const entry = { operation: 'acceptRights', relayer_id: null, subject: null, http_status: 200, request_id: null }
      const count = await secrets.acceptRights(unlocked.vault, { ...entry, at: secrets.now(), caller: 'command_line' })
      return `${count} rows that grant rights are accepted with their present content.`
    }
    const found = await secrets.faults(unlocked.vault)
    if (found.length === 0) return 'All rows that grant rights are unchanged.'
    const lines = found.map(
      ({ table, id, reason }) => `  ${table}${id === null ? '' : ` ${JSON.stringify(id)}`}: ${reason}`,
    )
    throw new CommandError(
      `Another program changed rows that grant rights:\n${lines.join('\n')}\nRestore a backup, or correct the rows and accept them.`,
    )
  } finally {
    await secrets.close()
  }
}

if (import.meta.main) {
  await runCommand({ usage }, ({ positionals: [verb = '', ...more] }) => {
    if (!['verify', 'accept'].includes(verb) || more.length > 0) throw new UsageError()
    return rights(readConfig(pickKeySettings()), verb)
  })
}
