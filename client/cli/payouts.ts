import { createHash } from 'node:crypto'
import { type Command, Option } from 'commander'
import type { DryRun, SendTransactionRequest, Transaction } from '../../generated/client.ts'
import { isUnknown } from '../call.ts'
import { RelayerError } from '../error.ts'
import { inCoins, type Unit, units } from './amounts.ts'
import { type Context, readInputBytes } from './context.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { type Payout, readAddress, readPayouts } from './payout-file.ts'
import { onlyOne } from './relayer-actions.ts'
import { inLine } from './terminal.ts'
import { readTimeout, timeoutSignal } from './wait.ts'

interface PayoutOptions {
  run: string
  pool?: string
  token?: string
  decimals?: string
  unit?: Unit
  timeout: string
  dryRun?: true
}

/** What became of a payout, for the report. */
interface Outcome {
  line: number
  to: string
  amount: string
  status: Transaction['status'] | 'refused' | 'deleted' | 'unknown' | 'not sent'
  transaction_id: string | null
  hash: string | null
  error: string | null
}

/** So many requests are under way at once. */
const atOnce = 10
/** All lines may wait behind the same transaction. */
const maxWaitingTold = 20
const columns = ['line', 'to', 'amount', 'status', 'transaction_id', 'hash', 'error']

/** `payouts`: sends each line of a CSV file exactly once, waits until all are confirmed, and prints a report. */
export function addPayouts(program: Command, context: () => Context): void {
  program
    .command('payouts <file>')
    .description('send each line of a CSV file once: columns to, amount and, optionally, reference (-: standard input)')
    .requiredOption(
      '--run <name>',
      'names these payouts: no line is paid twice on a chain under one name, by whichever relayer or pool',
    )
    .option('--pool <id>', 'send through this pool, in the place of a relayer')
    .option('--token <address>', 'an ERC-20 token instead of the native coin')
    .option('--decimals <number>', "the token's decimals: amounts are then whole tokens (default: its smallest units)")
    .addOption(new Option('--unit <unit>', 'the unit of amounts without one (default: wei)').choices(units))
    .option(
      '--dry-run',
      'pay nothing: say what would be paid, and what the run has sent already; exit code 3 for a refusal',
    )
    .option('--timeout <seconds>', 'the longest wait for confirmations', readTimeout, '3600')
    .action(async (file: string, options: PayoutOptions, command: Command) => {
      const token = checkOptions(options)
      const { unit, decimals = '0', pool } = options
      if (pool !== undefined) onlyOne(pool, undefined, command)
      const payouts = readPayouts(
        await readInputBytes(file),
        token === undefined ? { ...(unit && { unit }) } : { decimals: Number(decimals) },
      )
      const world = context()
      for (const hint of repeatedIn(payouts)) world.print.note(hint)
      const { pools, transactions } = world.client
      const by = pool ?? (await world.relayerId())
      if (options.dryRun) {
        const dryRun = pool === undefined ? transactions.dryRun : pools.dryRunTransaction
        const its = await previewAll(payouts, { run: options.run, token, ask: (body) => dryRun(by, body) })
        return tellPreview(world, its, { hasOneBalance: pool === undefined, token })
      }
      const send = pool === undefined ? transactions.send : pools.sendTransaction
      const run: Run = { run: options.run, token, send: (body, key) => send(by, body, key) }
      const sent = await sendAll(world, payouts, run)
      const outcomes = await waitForAll(world, sent, run, options.timeout)
      world.print.list(outcomes as unknown as Record<string, unknown>[], columns)
      tellHowToGoOn(world, outcomes)
      process.exitCode = exitCodeOf(outcomes)
    })
}

/** What would become of a payout. */
interface Preview extends Pick<Outcome, 'line' | 'to' | 'amount' | 'error'> {
  status: 'would be paid' | 'sent before' | 'would be refused'
  run: DryRun
}

interface PreviewRun extends Pick<Run, 'run' | 'token'> {
  ask(body: SendTransactionRequest): Promise<DryRun>
}

const previewAll = (payouts: Payout[], { ask, ...run }: PreviewRun): Promise<Preview[]> =>
  eachAtOnce(payouts, async (payout) => {
    const its = await ask({ ...requestOf(payout, run), deduplication_id: idOf(run.run, payout) })
    const { line, to, amount } = payout
    const isSent = its.refusals.some(({ code }) => code === 'already_sent')
    const [refusal] = its.refusals
    const status = isSent ? 'sent before' : refusal ? 'would be refused' : 'would be paid'
    const error = status === 'would be refused' ? (refusal?.details[0]?.message ?? refusal?.message ?? null) : null
    return { line, to, amount: amount.toString(), status, error, run: its }
  })

/** `hasOneBalance`: one relayer pays for all lines. Throws CommandError when not all that is left can be paid. */
function tellPreview(
  { print }: Context,
  previews: Preview[],
  { hasOneBalance, token }: { hasOneBalance: boolean; token: string | undefined },
): void {
  const left = previews.filter(({ status }) => status === 'would be paid')
  print.list(
    previews.map(({ run: _, ...its }) => its as unknown as Record<string, unknown>),
    ['line', 'to', 'amount', 'status', 'error'],
  )
  const counts = (['would be paid', 'sent before', 'would be refused'] as const)
    .map((status) => `${previews.filter((its) => its.status === status).length} ${status}`)
    .join(', ')
  const sum = sumOf(left.map(({ amount }) => amount))
  const shown = token === undefined ? inCoins(`${sum}`, null) : `${sum} of the smallest units of ${token}`
  print.note(`${counts}. The sum of what would be paid: ${shown}. Nothing was paid.`)
  print.note(
    'Each line is judged alone: limits of a day and of a budget are not added up, and a line that was changed after it was sent counts as sent before.',
  )
  const cost = sumOf(left.map(({ run }) => run.max_cost ?? '0'))
  const [{ balance = null, reserved_cost: reserved = null } = {}] = left.map(({ run }) => run)
  if (previews.some(({ status }) => status === 'would be refused'))
    throw new CommandError('Some lines would be refused', exitCodes.refused)
  if (hasOneBalance && balance !== null && cost + BigInt(reserved ?? 0) > BigInt(balance))
    throw new CommandError(
      `All together cost up to ${inCoins(`${cost}`, null)} with gas, and the balance is ${inCoins(balance, null)}`,
      exitCodes.refused,
    )
}

const sumOf = (amounts: string[]): bigint => amounts.reduce((sum, amount) => sum + BigInt(amount), 0n)

/** Lines without a reference that are equal may be one payment that was written twice. */
function repeatedIn(payouts: Payout[]): string[] {
  const lines = new Map<string, number[]>()
  for (const { line, to, amount, reference } of payouts)
    if (reference === undefined) lines.set(`${to} ${amount}`, [...(lines.get(`${to} ${amount}`) ?? []), line])
  return [...lines.values()]
    .filter((equal) => equal.length > 1)
    .map((equal) => `Lines ${equal.join(', ')} are equal, and each is paid`)
}

/** The token in lower case. Throws CommandError. */
function checkOptions({ run, token, decimals, unit }: PayoutOptions): string | undefined {
  if (!/^[\w.-]{1,100}$/.test(run)) throw new CommandError('--run must be letters, digits, dots and dashes')
  if (decimals !== undefined && (!/^\d{1,2}$/.test(decimals) || Number(decimals) > 77))
    throw new CommandError(`--decimals must be a number from 0 to 77; it is ${inLine(decimals)}`)
  if (token === undefined && decimals !== undefined) throw new CommandError('--decimals needs --token')
  if (token !== undefined && unit !== undefined) throw new CommandError('--unit is for the native coin; use --decimals')
  try {
    return token === undefined ? undefined : readAddress(token)
  } catch (error) {
    throw new CommandError(`--token: ${(error as Error).message}`)
  }
}

/** A transaction, with the relayer that has it, or what became of a payout that has none. */
type Sent = { payout: Payout; transaction: Transaction } | { payout: Payout; outcome: Outcome }

interface Run {
  run: string
  token: string | undefined
  /** Through the relayer or the pool. */
  send(body: SendTransactionRequest, once: { idempotencyKey: string }): Promise<Transaction>
}

/**
 * The id of a payout in its run. A line that moved within the file keeps it; one with a reference keeps it when its content changes, and
 * is then refused.
 */
const idOf = (run: string, { identity }: Payout): string =>
  `payouts-${run}-${createHash('sha256').update(identity).digest('hex')}`

const requestOf = ({ to, amount, reference }: Payout, { token }: Pick<Run, 'token'>): SendTransactionRequest => ({
  ...(token === undefined
    ? { to, value: amount }
    : { to: token, call: { function: 'transfer(address,uint256)', args: [to, amount.toString()] } }),
  ...(reference !== undefined && { reference }),
})

/** Whether a transaction of the run pays what the line says. */
function isOf(transaction: Transaction, { to, amount }: Payout, { token }: Pick<Run, 'token'>): boolean {
  const word = (hex: string) => hex.padStart(64, '0')
  const content =
    token === undefined
      ? { to, value: amount.toString(), data: null }
      : { to: token, value: '0', data: `0xa9059cbb${word(to.slice(2))}${word(amount.toString(16))}` }
  const { to: receiver, value, data } = transaction
  return receiver === content.to && value === content.value && data === content.data
}

/** Sends the payouts until the service does not answer. Those of a repeated run are the transactions that pay them already. */
async function sendAll(world: Context, payouts: Payout[], run: Run): Promise<Sent[]> {
  let isLost = false

  async function send(payout: Payout): Promise<Sent> {
    if (isLost) return { payout, outcome: outcomeOf(payout, 'not sent', null, null) }
    const id = idOf(run.run, payout)
    const body = { ...requestOf(payout, run), deduplication_id: id }
    try {
      return { payout, transaction: await run.send(body, { idempotencyKey: id }) }
    } catch (error) {
      const { code } = error instanceof RelayerError ? error : {}
      if (code === 'already_sent') return paidBefore(payout, error as RelayerError)
      if (code === 'idempotency_mismatch')
        return { payout, outcome: outcomeOf(payout, 'refused', null, explainChange(error as RelayerError)) }
      isLost ||= isUnanswered(error)
      if (isLost) return { payout, outcome: outcomeOf(payout, 'unknown', null, (error as Error).message) }
      if (!(error instanceof RelayerError)) throw error
      return { payout, outcome: outcomeOf(payout, 'refused', null, error.message) }
    }
  }

  /** Another relayer or API key has the transaction. */
  async function paidBefore(payout: Payout, { transaction: named }: RelayerError): Promise<Sent> {
    const refused = (reason: string) => ({ payout, outcome: outcomeOf(payout, 'refused', null, reason) })
    if (!named) return refused('another API key sent this line in this run; this one may not read its transaction')
    const transaction = await world.client.transactions.get(named.id).catch(asNone)
    if (!transaction) return { payout, outcome: outcomeOf(payout, 'deleted', named, explainDeletion(named)) }
    return isOf(transaction, payout, run) ? { payout, transaction } : refused(explainAnother(transaction))
  }

  const sent = await eachAtOnce(payouts, send)
  const accepted = sent.filter((one) => 'transaction' in one).length
  world.print.note(`${accepted} of ${payouts.length} accepted`)
  for (const warning of warningsIn(sent)) world.print.note(warning)
  return sent
}

type Named = Pick<Transaction, 'id' | 'relayer_id'>

const explainAnother = ({ id, relayer_id }: Named): string =>
  `this run has sent another payment for this line: transaction ${id} of ${relayer_id}`

/** `transaction`: of the failure; undefined where this API key may not read it. */
const explainChange = ({ transaction }: RelayerError): string => {
  const payment = transaction ? `transaction ${transaction.id} of ${transaction.relayer_id}` : 'its first payment'
  return `this line was changed after the run had sent it: ${payment} stays as it is, and nothing else was sent. Undo the change, or pay the difference in a line of its own`
}

const explainDeletion = ({ id, relayer_id }: Named, movedTo: string | null = null): string => {
  const loss =
    movedTo === null
      ? `transaction ${id} is no longer known, because its relayer ${relayer_id} was deleted or this API key may no longer read it`
      : `transaction ${id} was moved to ${movedTo}, which is no longer known, or which this API key may not read`
  return `this run has sent this line, and it is not sent again; ${loss}: look on the chain whether it was paid`
}

/** Throws what is no 404. */
function asNone(error: unknown): undefined {
  if (error instanceof RelayerError && error.status === 404) return undefined
  throw error
}

/** Whether the service may have accepted the request although it did not say so, or takes none now. */
const isUnanswered = (error: unknown): boolean =>
  isUnknown(error) || (error instanceof RelayerError && error.status >= 500)

async function waitForAll(world: Context, sent: Sent[], run: Run, timeout: string): Promise<Outcome[]> {
  const signal = timeoutSignal(timeout)
  const counts = new Map<Outcome['status'], number>()
  const note = () => world.print.note([...counts].map(([status, count]) => `${count} ${status}`).join(', '))

  let waiting = 0
  function noteWaiting(payout: Payout, transaction: Transaction): void {
    waiting += 1
    if (waiting <= maxWaitingTold) world.print.note(waitingText(payout, transaction))
    else if (waiting === maxWaitingTold + 1) world.print.note('More lines wait: the report at the end names them')
  }

  async function end(one: Sent): Promise<Outcome> {
    if ('outcome' in one) return one.outcome
    let last = one.transaction
    let isWaiting = false
    const onChange = (now: Transaction) => {
      last = now
      if (now.wait_reason !== null && !isWaiting) noteWaiting(one.payout, now)
      isWaiting = now.wait_reason !== null
    }
    try {
      last = await world.client.transactions.wait(null, last.id, { signal, onChange })
    } catch (error) {
      // Others took the time; this one may be mined.
      const now = signal.aborted ? await world.client.transactions.get(last.id).catch(asNone) : asNone(error)
      if (!now) return outcomeOf(one.payout, 'deleted', last, explainDeletion(last, last.moved_to_transaction_id))
      last = now
    }
    // Somebody may have replaced it since.
    if (!isOf(last, one.payout, run)) return outcomeOf(one.payout, 'refused', null, explainAnother(last))
    return outcomeOf(one.payout, last.status, last, last.error?.message ?? last.status_reason)
  }

  const outcomes = await eachAtOnce(sent, async (one) => {
    const outcome = await end(one)
    counts.set(outcome.status, (counts.get(outcome.status) ?? 0) + 1)
    if ([...counts.values()].reduce((sum, count) => sum + count) % 50 === 0) note()
    return outcome
  })
  note()
  return outcomes
}

const waitingText = ({ line }: Payout, { id, status_reason: reason }: Transaction): string =>
  inLine(`Line ${line}: ${reason ?? 'It waits'}. See: relayer why ${id}`)

function outcomeOf(
  { line, to, amount }: Payout,
  status: Outcome['status'],
  sent: { id: string; hash?: string | null } | null,
  error: string | null,
): Outcome {
  return {
    ...{ line, to, amount: amount.toString(), status },
    ...{ transaction_id: sent?.id ?? null, hash: sent?.hash ?? null, error },
  }
}

/** Each code once: most lines of a run have the same. */
function warningsIn(sent: Sent[]): string[] {
  const byCode = new Map<string, { text: string; lines: number[] }>()
  for (const one of sent)
    for (const { code, message } of ('transaction' in one && one.transaction.warnings) || []) {
      const { text, lines } = byCode.get(code) ?? { text: `warning ${code}: ${message}`, lines: [] }
      byCode.set(code, { text, lines: [...lines, one.payout.line] })
    }
  return [...byCode.values()].map(({ text, lines }) => {
    const others = lines.length > 1 ? ` and ${lines.length - 1} more` : ''
    return inLine(`Line ${lines[0]}${others}: ${text}`)
  })
}

const failed: ReadonlySet<string> = new Set(['refused', 'deleted', 'failed', 'canceled', 'expired'])
const lost: ReadonlySet<string> = new Set(['unknown', 'not sent'])

function tellHowToGoOn(world: Context, outcomes: Outcome[]): void {
  if (outcomes.some(({ status }) => lost.has(status)))
    world.print.note('The service did not answer. Run the same command again: no line is paid twice.')
  else if (outcomes.some(isUnfinished))
    world.print.note('Unfinished lines are still being sent. Run the same command again to wait for them.')
}

const isUnfinished = ({ status }: Outcome): boolean =>
  status !== 'confirmed' && !failed.has(status) && !lost.has(status)

function exitCodeOf(outcomes: Outcome[]): number {
  if (outcomes.some(({ status }) => failed.has(status))) return exitCodes.not_confirmed
  if (outcomes.some(({ status }) => lost.has(status))) return exitCodes.unavailable
  return outcomes.some(isUnfinished) ? exitCodes.timeout : exitCodes.done
}

/** The results, in the order of the items. */
async function eachAtOnce<In, Out>(items: In[], work: (item: In) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = []
  const waiting = items.entries()
  const takeTurns = async () => {
    for (const [index, item] of waiting) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, takeTurns))
  return results
}
