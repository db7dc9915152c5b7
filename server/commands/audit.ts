import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import Database from 'better-sqlite3'
import { ConfigError, readConfig } from '../config.ts'
import type { AuditHead } from '../store/audit-lots.ts'
import { checkAudit } from '../store/sqlite/audit-check.ts'
import { CommandError, pickSettings, requireDatabase } from './command.ts'

/*
 * Verifies the audit trail. Exit code 0: unchanged. 1: changed. The service may keep running.
 */
const usage = `Usage: npm run audit -- verify [--log FILE]
  --log FILE  the service's log, or its lines "audit head": also detects a missing end of the trail
`

try {
  process.exitCode = run()
} catch (error) {
  if (!(error instanceof CommandError || error instanceof ConfigError)) throw error
  process.exitCode = refuse(`${error.message}\n`)
}

function run(): number {
  const { values, positionals } = parseArgs({
    options: { log: { type: 'string' } },
    allowPositionals: true,
    strict: false,
  })
  const { log } = values as { log?: string }
  if (positionals.join() !== 'verify') return refuse(usage)
  const { database_file } = readConfig(pickSettings('DATA_DIR', 'DATABASE_URL'))
  requireDatabase({ database_file })
  const told = log === undefined ? [] : headsIn(readFileSync(log, 'utf8'))
  const db = new Database(database_file, { readonly: true })
  const { head, fault } = checkAudit(db, told)
  db.close()
  if (fault !== undefined) return refuse(`${fault}.\n`)
  const hash = Buffer.from(head.hash).toString('hex')
  process.stdout.write(`${head.up_to} entries are unchanged. Head: ${hash}\n`)
  if (log !== undefined) process.stdout.write(`All ${told.length} heads in the log are in the trail.\n`)
  return 0
}

function refuse(words: string): number {
  process.stderr.write(words)
  return 1
}

function headsIn(log: string): AuditHead[] {
  return log
    .split('\n')
    .filter((line) => line.includes('"msg":"audit head"'))
    .map((line) => JSON.parse(line) as { up_to: number; hash: string })
    .map(({ up_to, hash }) => ({ up_to, hash: Buffer.from(hash, 'hex') }))
}
