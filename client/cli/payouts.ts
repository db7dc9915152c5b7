import { createHash } from 'node:crypto'
import type { Command } from 'commander'
import { parse } from 'csv-parse/sync'
import type { SendTransactionRequest, Transaction } from '../../generated/client.ts'
import { RelayerError } from '../error.ts'
import { readUnits, readWei } from './amounts.ts'
import { type Context, readInput } from './context.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { inLine } from './terminal.ts'
import { timeoutSignal } from './wait.ts'

interface PayoutOptions {
  run: string
  token?: string
  decimals?: string
  timeout: string
}

interface Payout {
  line: number
  to: string
  amount: bigint
  reference: string | undefined
  /** What makes it this payout and no other: its reference, or else its content and how often the file has had that before. */
  identity: string
}

/** What became of a payout. */
interface Outcome {
  line: number
  to: string
  amount: string
  status: string
  transaction_id: string | null
  hash: string | null
  error: string | null
}

/** So many requests are under way at once. */
const at_once = 10
const columns = ['line', 'to', 'amount', 'status', 'transaction_id', 'hash', 'error']

/** `payouts`: sends each line of a CSV file exactly once, waits until all are confirmed, and prints a report. */
export function addPayouts(program: Command, context: () => Context): void {
  program
    .command('payouts <file>')
    .description('send each line of a CSV file once: columns to, amount and, optionally, reference (-: standard input)')
    .requiredOption('--run <name>', 'names these payouts: repeated under the same name, no line is paid twice')
    .option('--token <address>', 'an ERC-20 token instead of the native coin')
    .option('--decimals <number>', "the token's decimals: amounts are then whole tokens (default: its smallest units)")
    .option('--timeout <seconds>', 'the longest wait for confirmations', '3600')
    .action(async (file: string, options: PayoutOptions) => {
      checkOptions(options)
      const world = context()
      const payouts = readPayouts(await readInput(file), options)
      const relayer_id = await world.relayerId()
      const outcomes = await payAll(world, relayer_id, payouts, options)
      world.print.list(outcomes as unknown as Record<string, unknown>[], columns)
      if (outcomes.some(({ status }) => status !== 'confirmed')) process.exitCode = exitCodes.not_confirmed
    })
}

function checkOptions({ run, token, decimals = '0' }: PayoutOptions): void {
  if (!/^[\w.-]{1,100}$/.test(run)) throw new CommandError('--run must be letters, digits, dots and dashes')
  if (token !== undefined && !isAddress(token)) throw new CommandError(`--token ${inLine(token)} is no address`)
  if (!/^\d{1,2}$/.test(decimals) || Number(decimals) > 77)
    throw new CommandError(`--decimals must be a number from 0 to 77; it is ${inLine(decimals)}`)
}

const isAddress = (text: string): boolean => /^0x[0-9a-fA-F]{40}$/.test(text)

/** Every line is read before the first one is paid. */
function readPayouts(text: string, { token, decimals }: PayoutOptions): Payout[] {
  let rows: { info: { lines: number }; record: Record<string, string> }[]
  try {
    rows = parse(text, { columns: true, trim: true, bom: true, info: true, skip_empty_lines: true })
  } catch (error) {
    throw new CommandError(`The file is no CSV: ${(error as Error).message}`)
  }
  const seen = new Map<string, number>()
  const payouts = rows.map(({ info: { lines: line }, record: { to, amount, reference } }) => {
    if (!to || !amount) throw new CommandError(`Line ${line} needs the columns to and amount`)
    if (!isAddress(to)) throw new CommandError(`Line ${line}: ${inLine(to)} is no address`)
    try {
      const read = token === undefined ? readWei(amount) : readUnits(amount, Number(decimals ?? 0))
      const content = reference ? `reference ${reference}` : `${to.toLowerCase()} ${read}`
      const before = seen.get(content) ?? 0
      seen.set(content, before + 1)
      if (reference && before > 0)
        throw new CommandError(`the reference ${inLine(reference)} is not the first of its kind`)
      return { line, to, amount: read, reference: reference || undefined, identity: `${content} ${before}` }
    } catch (error) {
      throw new CommandError(`Line ${line}: ${(error as Error).message}`)
    }
  })
  if (payouts.length === 0) throw new CommandError('The file has no payouts')
  return payouts
}

/** A line that moved within the file keeps its key; one with a reference keeps it when its content changes, and is then refused. */
const keyOf = (run: string, { identity }: Payout): string =>
  `payouts-${run}-${createHash('sha256').update(identity).digest('hex')}`

const requestOf = ({ to, amount, reference }: Payout, token: string | undefined): SendTransactionRequest => ({
  ...(token === undefined
    ? { to, value: amount }
    : { to: token, call: { function: 'transfer(address,uint256)', args: [to, amount.toString()] } }),
  ...(reference !== undefined && { reference }),
})

async function payAll(
  world: Context,
  relayer_id: string,
  payouts: Payout[],
  options: PayoutOptions,
): Promise<Outcome[]> {
  const signal = timeoutSignal(options.timeout)
  const done = { sent: 0, ended: 0, failed: 0 }
  const tell = () =>
    world.print.note(`${done.sent} of ${payouts.length} accepted, ${done.ended} confirmed, ${done.failed} failed`)

  async function send(payout: Payout): Promise<Outcome | Transaction> {
    try {
      const body = requestOf(payout, options.token)
      const idempotencyKey = keyOf(options.run, payout)
      const sent = await world.client.transactions.send(relayer_id, body, { idempotencyKey })
      done.sent += 1
      return sent
    } catch (error) {
      if (!(error instanceof RelayerError)) throw error
      done.failed += 1
      return outcomeOf(payout, 'not accepted', null, error.message)
    }
  }

  async function end(payout: Payout, sent: Outcome | Transaction): Promise<Outcome> {
    if (!('id' in sent)) return sent
    const ended = await world.client.transactions.wait(relayer_id, sent.id, { signal }).catch((error) => {
      if (signal.aborted) return { ...sent, status: 'unfinished', error: null } as const
      throw error
    })
    if (ended.status === 'confirmed') done.ended += 1
    else done.failed += 1
    if ((done.ended + done.failed) % 50 === 0) tell()
    return outcomeOf(payout, ended.status, ended, ended.error?.message ?? null)
  }

  const sent = await inTurns(payouts, send)
  tell()
  const outcomes = await inTurns(sent, (one, index) => end(payouts[index] as Payout, one))
  tell()
  return outcomes
}

const outcomeOf = (
  { line, to, amount }: Payout,
  status: string,
  sent: Pick<Transaction, 'id' | 'hash'> | null,
  error: string | null,
): Outcome => ({
  line,
  to,
  amount: amount.toString(),
  status,
  transaction_id: sent?.id ?? null,
  hash: sent?.hash ?? null,
  error,
})

async function inTurns<In, Out>(items: In[], work: (item: In, index: number) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = []
  for (let from = 0; from < items.length; from += at_once) {
    const some = items.slice(from, from + at_once)
    results.push(...(await Promise.all(some.map((item, index) => work(item, from + index)))))
  }
  return results
}
