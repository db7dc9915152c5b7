import type { Command } from 'commander'
import { collect } from './collect.ts'
import type { Context } from './context.ts'
import { readLimit } from './list-options.ts'
import type { Column } from './print.ts'

interface AuditOptions {
  limit: string
  caller?: string
  operation?: string
  subject?: string
  refused?: true
}

const callerOf: Column = {
  title: 'caller',
  text: ({ caller, caller_name: name }) => (name === null ? String(caller) : `${name} (${caller})`),
}
const columns: Column[] = ['created_at', callerOf, 'operation', 'relayer_id', 'subject', 'http_status', 'failure.code']

/** `audit`: who changed and signed what. */
export function addAudit(program: Command, context: () => Context): void {
  program
    .command('audit')
    .description('list the audit trail, newest first: what was changed, signed or refused')
    .option('--caller <id>', 'only of the API key with this id (keys list), `environment`, `command_line` or `service`')
    .option('--operation <name>', 'only this operation, or those with this part in their name')
    .option('--subject <id>', 'only about this resource or digest')
    .option('--refused', 'only what was refused')
    .option('--limit <count>', 'at most so many', '20')
    .action(async ({ limit, refused, ...filters }: AuditOptions) => {
      const { client, print, relayer_id } = context()
      const query = {
        ...filters,
        ...(relayer_id !== undefined && { relayer_id }),
        ...(refused && ({ outcome: 'refused' } as const)),
        per_page: readLimit(limit),
      }
      print.list(await collect(client.audit.listEntries(query), Number(limit)), columns)
    })
}
