import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { readConfig } from '../config.ts'
import { connectClient } from '../store/postgres/pool.ts'
import { createSession } from '../store/postgres/session.ts'
import { checkTrail, headOfAll, type ToldHead, type TrailVerdict } from '../store/queries/audit.ts'
import { checkAudit } from '../store/sqlite/audit.ts'
import { CommandError, pickSettings, requireDatabase, runCommand, sqliteDatabase, UsageError } from './command.ts'

/*
 * Verifies the audit trail. Exit code 0: unchanged. 1: changed. The service may keep running.
 */
const usage = `Usage: npm run audit -- verify [--log FILE]
  --log FILE  the logs of all servers, or their lines "audit head": also detects a missing end of the trail`

const options = { log: { type: 'string' } } as const
await runCommand({ usage, options, isReadOnly: true }, ({ values: { log }, positionals }) => {
  if (positionals.join() !== 'verify') throw new UsageError()
  return verify(log)
})

/** The report; throws CommandError. */
async function verify(log: string | undefined): Promise<string> {
  const told = log === undefined ? [] : headsIn(readFileSync(log, 'utf8'))
  const { heads, checkpoints, skipped, fault } = await check(told)
  if (fault !== undefined) throw new CommandError(`${fault}.`)
  const { up_to, hash } = headOfAll(heads)
  const removed = checkpoints.reduce((sum, its) => sum + its.up_to, 0)
  const lines = [`${up_to - removed} entries are unchanged. Head: ${hex(hash)}`]
  for (const its of checkpoints) {
    const place = heads.length > 1 ? `Chain ${its.chain}: entries` : 'Entries'
    lines.push(`${place} 1 to ${its.up_to} were removed by age. Checkpoint: ${hex(its.hash)}`)
  }
  if (heads.length > 1) {
    for (const its of heads) lines.push(`Chain ${its.chain}: ${its.up_to} entries. Head: ${hex(its.hash)}`)
  }
  if (log !== undefined) {
    const older = skipped === 0 ? '' : `; ${skipped} are older than the checkpoint, and were not compared`
    lines.push(`All ${told.length - skipped} heads in the log are in the trail${older}.`)
  }
  return lines.join('\n')
}

async function check(told: ToldHead[]): Promise<TrailVerdict> {
  const config = readConfig(pickSettings('DATA_DIR', 'DATABASE_URL'))
  await requireDatabase(config)
  if (config.database.type === 'postgres') return checkPostgres(config.database.url, told)
  const db = new Database(sqliteDatabase(config), { readonly: true })
  const { head, checkpoint, ...verdict } = checkAudit(db, told)
  db.close()
  return { heads: [{ chain: 1, ...head }], checkpoints: checkpoint ? [{ chain: 1, ...checkpoint }] : [], ...verdict }
}

async function checkPostgres(url: string, told: ToldHead[]) {
  const client = await connectClient({ url })
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    return await checkTrail(createSession(client), told)
  } finally {
    await client.end()
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function headsIn(log: string): ToldHead[] {
  return log
    .split('\n')
    .filter((line) => line.includes('"msg":"audit head"'))
    .map((line) => JSON.parse(line) as { chain: number; up_to: number; hash: string })
    .map(({ chain, up_to, hash }) => ({ chain, up_to, hash: Buffer.from(hash, 'hex') }))
}
