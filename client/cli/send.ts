import type { Command } from 'commander'
import type { DryRun, SendTransactionRequest } from '../../generated/client.ts'
import { readWei } from './amounts.ts'
import { readCall } from './call.ts'
import type { Context } from './context.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { addPrices, type PriceOptions, pricesOf } from './prices.ts'
import { onlyOne } from './relayer-actions.ts'
import { addWait, follow, type WaitOptions } from './wait.ts'

/** What a transaction is to do, and at which prices. */
export interface ContentOptions extends PriceOptions {
  to?: string
  value?: string
  data?: string
  call?: string
  abi?: string
  create?: boolean
  gasLimit?: string
  validUntil?: string
  reference?: string
  metadata?: Record<string, string>
  submission?: SendTransactionRequest['submission']
}

interface SendCommandOptions extends ContentOptions, WaitOptions {
  idempotencyKey?: string
  dryRun?: boolean
  pool?: string
  orderingKey?: string
}

const dryRunPath = '/api/v1/relayers/{relayer_id}/transactions/dry-run'

export function addSend(program: Command, context: () => Context): void {
  const command = program
    .command('send [arguments...]')
    .description('send a transaction; the arguments are those of --call')
  addContent(command)
    .option('--idempotency-key <key>', 'repeating the command with the same key sends nothing twice')
    .option('--dry-run', 'check only: accept and sign nothing; exit code 3 when it would be refused')
    .option('--pool <id>', 'send through this pool, in the place of a relayer')
    .option('--ordering-key <key>', 'of a pool: those with one key keep their order')
  addWait(command).action(async (values: string[], options: SendCommandOptions, its: Command) => {
    const world = context()
    const { client, print } = world
    const { pool, orderingKey, idempotencyKey } = options
    // An empty one is refused: a script whose variable is not set would send twice.
    const once = idempotencyKey === undefined ? {} : { idempotencyKey }
    const body = { ...(await bodyOf(values, options)), ...(orderingKey !== undefined && { ordering_key: orderingKey }) }
    if (pool !== undefined) {
      onlyOne(pool, undefined, its)
      if (options.dryRun) return tellDryRun(print, await client.pools.dryRunTransaction(pool, body))
      const sent = await client.pools.sendTransaction(pool, body, once)
      return follow(world, null, sent, options)
    }
    const relayerId = await world.relayerId()
    if (options.dryRun)
      return tellDryRun(print, (await client.post(dryRunPath, { path: { relayer_id: relayerId }, body })).data)
    const sent = await client.transactions.send(relayerId, body, once)
    return follow(world, relayerId, sent, options)
  })
}

/** A script that sends after a dry run goes on only when it would be accepted. */
function tellDryRun(print: Context['print'], run: DryRun): void {
  print.one(run)
  if (!run.accepted) throw new CommandError('It would be refused; nothing was sent', exitCodes.refused)
}

export const addContent = (command: Command): Command =>
  addPrices(command)
    .option('--to <address>', 'the recipient')
    .option('--value <amount>', 'wei, or with a unit: 2.5gwei, 0.1ether (default: 0)')
    .option('--data <hex>', 'call data')
    .option('--call <function>', 'the function to call, for example "transfer(address,uint256)"')
    .option('--abi <file>', 'an ABI, or an artifact with one, in JSON: --call then takes the name alone')
    .option('--create', 'create a contract from --data, without --to')
    .option('--gas-limit <gas>', 'default: the node estimates it')
    .option('--valid-until <time>', 'do not send after this time (RFC 3339)')
    .option('--reference <text>', 'your own name for it: the list can be filtered by it')
    .option('--metadata <name=value>', 'a name and a value of yours; may be repeated', pair)
    .option('--submission <mode>', `${modes.join(', ')}:BLOCKS (default: that of the network)`, readSubmission)

const modes = ['public', 'private', 'private_then_public'] as const

/** `private_then_public:25` is released after 25 blocks. */
function readSubmission(text: string): SendTransactionRequest['submission'] {
  const [name, blocks] = text.split(':')
  const mode = modes.find((one) => one === name)
  const isDelayed = mode === 'private_then_public'
  if (mode === undefined || isDelayed !== (blocks !== undefined && /^\d{1,5}$/.test(blocks)))
    throw new CommandError(`--submission must be ${modes.join(', ')}:BLOCKS; it is ${text}`)
  return isDelayed ? { mode, after_blocks: Number(blocks) } : { mode }
}

/** Adds `name=value` to the others. */
function pair(text: string, others: Record<string, string> = {}): Record<string, string> {
  const end = text.indexOf('=')
  if (end < 1) throw new CommandError(`--metadata must be NAME=VALUE; it is ${text}`)
  return { ...others, [text.slice(0, end)]: text.slice(end + 1) }
}

export async function bodyOf(values: string[], options: ContentOptions): Promise<SendTransactionRequest> {
  const { to, value, call, create, gasLimit, validUntil, reference, metadata, submission } = options
  if ((to === undefined) !== (create === true)) throw new CommandError('Give --to, or --create for a new contract')
  if (call !== undefined && options.data !== undefined) throw new CommandError('Give one of --call and --data')
  if (call === undefined && values.length > 0) throw new CommandError('Arguments require --call')
  const { data } = options
  if (call !== undefined && to === undefined) throw new CommandError('--call requires --to')
  if (gasLimit !== undefined && !/^\d{1,15}$/.test(gasLimit)) throw new CommandError('--gas-limit must be a number')
  const others = {
    ...(value !== undefined && { value: readWei(value) }),
    ...(gasLimit !== undefined && { gas_limit: Number(gasLimit) }),
    ...(validUntil !== undefined && { valid_until: validUntil }),
    ...(reference !== undefined && { reference }),
    ...(metadata !== undefined && { metadata }),
    ...(submission !== undefined && { submission }),
    ...pricesOf(options),
  }
  if (call !== undefined && to !== undefined) return { ...others, to, call: await readCall(call, values, options.abi) }
  return { ...others, ...(to !== undefined && { to }), ...(data !== undefined && { data }) }
}
