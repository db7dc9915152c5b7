import type { Explanation, Speed, Transaction, TransactionChange } from '../../generated/client.ts'
import { inGwei, readWei } from './amounts.ts'
import type { Context } from './context.ts'
import { CommandError, exitCodeOf, exitCodes } from './exit-codes.ts'
import { findTransaction } from './find-transaction.ts'
import { inLine } from './terminal.ts'

interface Wanted {
  operation: TransactionChange['operation']
  speed?: Speed
  /** As it is given to --max-fee. */
  maxFee?: string | undefined
}

/** What another version would be signed at now, as the service says it. `change`: null when the state allows none. */
interface Planned extends Pick<Explanation, 'status'> {
  transaction: Transaction
  base_fee: string | null
  change: TransactionChange | null
}

interface ChangeCommand extends Wanted {
  dryRun?: boolean
  /** Asks for the change. `world`: prints a line for each result when there are several. */
  act(world: Context, transaction: Transaction): Promise<void>
}

/**
 * Says of each transaction whether a block would include its new version now, and what all cost; then changes each, whatever becomes of the
 * others. A dry run changes nothing. Throws CommandError.
 */
export async function changeEach(
  world: Context,
  names: string[],
  { act, dryRun = false, ...wanted }: ChangeCommand,
): Promise<void> {
  const { print } = world
  const each: Context =
    names.length === 1 ? world : { ...world, print: { ...print, one: (item, brief = '') => print.line(item, brief) } }
  const planned = await eachOf(each, names, async (name) => {
    const plan = await planChange(world, await findTransaction(world, name), wanted)
    if (dryRun)
      each.print.one({ transaction_id: plan.transaction.id, ...plan.change, base_fee: plan.base_fee }, inText(plan))
    else print.note(inText(plan))
    return plan
  })
  if (planned.length > 1) for (const total of totals(planned)) print.note(total)
  if (!dryRun) return void (await eachOf(each, planned, ({ transaction }) => act(each, transaction)))
  const unmineable = planned.filter(({ change }) => change === null || change.is_mineable === false).length
  if (unmineable > 0)
    throw new CommandError(
      `No block would include ${unmineable} of ${planned.length} now; nothing was changed`,
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
  const { status, figures, changes } = await client.transactions.getExplanation(transaction.id, ceilingIn(maxFee))
  const change = changes.find((one) => one.operation === operation && (speed === undefined || one.speed === speed))
  return { transaction, status, base_fee: figures.base_fee, change: change ?? null }
}

function inText({ transaction: { id }, status, base_fee, change }: Planned): string {
  if (change === null) return `${id}: it is ${status}, so it has no other version`
  const { price, is_mineable, reason } = change
  if (price === null) return inLine(`${id}: ${reason ?? 'nothing would be signed'}`)
  const prices = [
    `its price is at most ${inGwei(price)}`,
    ...(base_fee === null ? [] : [`the base fee ${inGwei(base_fee)}`]),
  ]
  const verdict = is_mineable === false ? 'no block would include it now' : 'a block can include it now'
  return `${id}: ${verdict}: ${prices.join(', ')}`
}

/** What all of a relayer cost: relayers of several networks have no sum. */
function* totals(planned: Planned[]): Generator<string> {
  for (const relayerId of new Set(planned.map(({ transaction }) => transaction.relayer_id))) {
    const own = planned.filter(({ transaction }) => transaction.relayer_id === relayerId)
    const sum = (name: 'max_fee' | 'extra_fee') =>
      own.reduce((all, { change }) => all + BigInt(change?.[name] ?? 0), 0n)
    yield `${relayerId}: the fees of ${own.length} are at most ${sum('max_fee')} wei, ${sum('extra_fee')} wei more than now`
  }
}

/** The results. Of several, one that fails is told and leaves the others; then it throws at the end. */
async function eachOf<In, Out>({ print }: Context, items: In[], work: (item: In) => Promise<Out>): Promise<Out[]> {
  if (items.length === 1) return [await work(items[0] as In)]
  const results: Out[] = []
  const errors: Error[] = []
  for (const item of items) {
    try {
      results.push(await work(item))
    } catch (error) {
      errors.push(error as Error)
      print.note(inLine((error as Error).message))
    }
  }
  if (errors.length > 0) throw new CommandError(`${errors.length} of ${items.length} failed`, exitCodeOf(errors[0]))
  return results
}
