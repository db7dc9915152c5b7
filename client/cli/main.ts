#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { RelayerError } from '../error.ts'
import { addApply } from './apply.ts'
import { addAudit } from './audit.ts'
import { type Context, createContext, type GlobalOptions, serviceUrl } from './context.ts'
import { addDeliveries } from './deliveries.ts'
import { addDoctor } from './doctor.ts'
import { CommandError, exitCodeOf, exitCodes, exitCodesHelp, isUnreached, unreachedReason } from './exit-codes.ts'
import { addListen } from './listen.ts'
import { addMcp } from './mcp.ts'
import { addPayouts } from './payouts.ts'
import { addPolicies } from './policies.ts'
import { addRelayerActions } from './relayer-actions.ts'
import { addResources } from './resources.ts'
import { addSend } from './send.ts'
import { addSign } from './sign.ts'
import { inLine, write, writeJson } from './terminal.ts'
import { addTransactions } from './transactions.ts'
import { addVerifyRelease } from './verify-release.ts'
import { addWhy } from './why.ts'

const environmentHelp = `
Environment:
  RELAYER_URL      the service's URL (default: http://127.0.0.1:8080)
  RELAYER_API_KEY  the API key
  RELAYER_ID       the relayer, where --relayer is not given`

const program = new Command('relayer')
  .description('Signs, sends and manages with an EVM Relayer Service.')
  .option('--url <url>', 'the service; before RELAYER_URL')
  .option('-r, --relayer <id>', 'the relayer; before RELAYER_ID')
  .option('--json', 'print JSON')
  .addHelpText('after', `${environmentHelp}\n${exitCodesHelp}`)

const context = (): Context => createContext(program.opts<GlobalOptions>(), process.env)
const parts = [
  addSign,
  addSend,
  addTransactions,
  addApply,
  addPayouts,
  addWhy,
  addRelayerActions,
  addResources,
  addPolicies,
  addAudit,
  addDeliveries,
  addListen,
  addMcp,
  addDoctor,
  addVerifyRelease,
]
for (const add of parts) add(program, context)
prepare(program)

// The reader of a pipe may end first, as in `relayer tx list | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
  if (!(error instanceof CommanderError)) tell(error)
}

/** Global options may stand anywhere, and a wrong usage throws. */
function prepare(command: Command): void {
  command.exitOverride()
  command.configureOutput({
    writeOut: (text) => write(process.stdout, text),
    writeErr: (text) => write(process.stderr, text),
  })
  command.configureHelp({ showGlobalOptions: true })
  for (const inner of command.commands) prepare(inner)
}

function tell(error: unknown): void {
  const text = explain(error)
  if (program.opts<GlobalOptions>().json) writeJson(process.stderr, text)
  else write(process.stderr, `${text}\n`)
}

/** In JSON with --json. */
function explain(error: unknown): string {
  const { message, stack } = error as Error
  const url = serviceUrl(program.opts<GlobalOptions>(), process.env)
  const told = isUnreached(error) ? `The service at ${url} is not reached: ${unreachedReason(error)}` : message
  const isTold =
    error instanceof CommandError || error instanceof RelayerError || exitCodeOf(error) !== exitCodes.unexpected
  if (program.opts<GlobalOptions>().json)
    return JSON.stringify(error instanceof RelayerError ? error : { message: told, exit_code: exitCodeOf(error) })
  // Each failure of the service has a code.
  if (error instanceof RelayerError && error.code === undefined)
    return inLine(
      `The server at ${url} answers ${error.status} ${error.message}, not as a relayer service does: is this the URL of one?`,
    )
  if (error instanceof RelayerError) return withDetails(error)
  return isTold ? told : (stack ?? message)
}

function withDetails({ status, code, message, details, requestId }: RelayerError): string {
  const more = details.slice(1).map((detail) => inLine(`  ${detail.path}: ${detail.message}`))
  const room = details.flatMap(({ resets_at: at }) => (at ? [inLine(`  there is room again at ${at}`)] : []))
  const request = requestId === undefined ? [] : [inLine(`  request ${requestId}`)]
  return [inLine(`${status} ${code ?? ''}: ${message}`), ...more, ...room, ...request].join('\n')
}
