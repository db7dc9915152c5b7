import type { Speed, Transaction, TransactionExplanation, TransactionOption } from '../../generated/client.ts'
import { inGwei, readWei } from './amounts.ts'
import type { Context } from './context.ts'
import { CommandError, exitCodeOf, exitCodes } from './exit-codes.ts'
import { findTransaction } from './find-transaction.ts'
import { inLine } from './terminal.ts'

interface Wanted {
  operation: TransactionOption['operation']
  speed?: Speed
  /** As it is given to --max-fee. */
  maxFee?: string | undefined
}

/** What another version would be signed at now, as the service says it. `change`: null when the state allows none. */
interface Planned extends Pick<TransactionExplanation, 'status'> {
  transaction: Transaction
  base_fee: string | null
  change: TransactionOption | null
}

interface ChangeCommand extends Wanted {
  dryRun?: boolean
  /** Asks for the change, and says so. `world`: prints a line for each result when there are several. */
  act(world: Context, transaction: Transaction): Promise<Transaction>
  /** Waits for what `act` asked for, and prints it. */
  wait?(world: Context, transaction: Transaction): Promise<void>
}

/** The transactions of one command, and what failed of them. */
interface Batch extends Context {
  names: string[]
  errors: Error[]
}

/**
 * Says of each transaction whether a block would include its new version now, and what all cost; then asks for each change, and waits only
 * after that: a nonce is not mined before those below it. What fails is told, and leaves the others. A dry run changes nothing. Throws
 * CommandError.
 */
export async function changeEach(
  world: Context,
  names: string[],
  { act, wait = async () => {}, dryRun = false, ...wanted }: ChangeCommand,
): Promise<void> {
  const { print } = world
  const ofMany = { ...print, one: (item: unknown, brief = '') => print.line(item, brief) }
  const batch: Batch = { ...world, names, errors: [], print: names.length === 1 ? print : ofMany }
  // A transaction that is named twice, by its id and a hash for example, is changed once.
  const found = new Map<string, Transaction>()
  for (const name of names)
    for (const transaction of await attempt(batch, name, findTransaction(world, name)))
      found.set(transaction.id, transaction)
  const planned: Planned[] = []
  for (const [id, transaction] of found)
    planned.push(...(await attempt(batch, id, sayPlan(batch, transaction, { dryRun, ...wanted }))))
  if (planned.length > 1) for (const total of totals(planned, wanted)) print.note(total)
  if (!dryRun) {
    const changed: Transaction[] = []
    for (const { transaction } of planned)
      changed.push(...(await attempt(batch, transaction.id, act(batch, transaction))))
    await Promise.all(changed.map((transaction) => attempt(batch, transaction.id, wait(batch, transaction))))
  }
  const [first] = batch.errors
  if (first) throw new CommandError(`${batch.errors.length} of ${names.length} failed`, exitCodeOf(first))
  if (dryRun) refuseUnmineable(planned)
}

/** Its result. Of several, one that fails is told and has none. */
async function attempt<T>({ names, errors, print }: Batch, name: string, work: Promise<T>): Promise<T[]> {
  try {
    return [await work]
  } catch (error) {
    if (names.length === 1) throw error
    errors.push(error as Error)
    print.note(inLine(`${name}: ${(error as Error).message}`))
    return []
  }
}

/** A dry run prints the plan as its result. */
async function sayPlan(
  world: Context,
  transaction: Transaction,
  { dryRun, ...wanted }: Wanted & { dryRun: boolean },
): Promise<Planned> {
  const plan = await planChange(world, transaction, wanted)
  const { change, base_fee } = plan
  if (dryRun) world.print.one({ transaction_id: transaction.id, ...change, base_fee }, inText(plan))
  else world.print.note(inText(plan))
  return plan
}

function refuseUnmineable(planned: Planned[]): void {
  const count = planned.filter(({ change }) => change === null || change.is_mineable === false).length
  if (count > 0)
    throw new CommandError(
      `Of ${planned.length}, ${count} would have no new version that a block includes now; nothing was changed`,
      exitCodes.refused,
    )
}

/** Says whether a block would include the new version now. */
export async function tellChange(world: Context, transaction: Transaction, wanted: Wanted): Promise<void> {
  world.print.note(inText(await planChange(world, transaction, wanted)))
}

/** The query of --max-fee. */
export const ceilingIn = (maxFee: string | undefined): { max_fee_per_gas?: string } =>
  maxFee === undefined ? {} : { max_fee_per_gas: `${readWei(maxFee)}` }

async function planChange(
  { client }: Context,
  transaction: Transaction,
  { operation, speed, maxFee }: Wanted,
): Promise<Planned> {
  const { status, figures, options } = await client.transactions.getExplanation(transaction.id, ceilingIn(maxFee))
  const change = options.find((one) => one.operation === operation && (speed === undefined || one.speed === speed))
  return { transaction, status, base_fee: figures.base_fee, change: change ?? null }
}

function inText({ transaction: { id }, status, base_fee, change }: Planned): string {
  if (change === null) return `${id}: it is ${status}, and the service offers no other version of it`
  const { max_fee_per_gas: price, is_mineable, reason } = change
  if (price === null) return inLine(`${id}: ${reason ?? 'nothing would be signed'}`)
  const prices = [
    `it would be signed at ${inGwei(price)}`,
    ...(base_fee === null ? [] : [`the base fee ${inGwei(base_fee)}`]),
  ]
  const verdict = is_mineable === false ? 'no block would include it now' : 'a block can include it now'
  return `${id}: ${verdict}: ${prices.join(', ')}`
}

/**
 * What all of a relayer cost as they would be signed now, without those of which no price is known: relayers of several networks have no
 * sum.
 */
function* totals(planned: Planned[], { maxFee }: Wanted): Generator<string> {
  const later =
    maxFee === undefined
      ? 'the service may raise the prices later'
      : `the service may raise the prices later, to ${inGwei(`${readWei(maxFee)}`)} at most`
  for (const relayerId of new Set(planned.map(({ transaction }) => transaction.relayer_id))) {
    const own = planned.filter(({ transaction }) => transaction.relayer_id === relayerId)
    const priced = own.filter(({ change }) => change?.max_fee != null)
    const sum = (name: 'max_fee' | 'extra_fee') =>
      priced.reduce((all, { change }) => all + BigInt(change?.[name] ?? 0), 0n)
    const left = own.length - priced.length
    if (left > 0) yield `${relayerId}: ${left} without a known price: not in the fees`
    if (priced.length === 0) continue
    yield `${relayerId}: signed now, the fees of ${priced.length} are at most ${sum('max_fee')} wei, ${sum('extra_fee')} wei more than at present; ${later}`
  }
}
