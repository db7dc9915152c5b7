import { type Command, Option } from 'commander'
import type { Transaction } from '../../generated/client.ts'
import { waitForTransaction } from '../transactions.ts'
import type { Context } from './context.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import type { PriceOptions } from './prices.ts'
import { inLine } from './terminal.ts'

type Until = 'mined' | 'confirmed'

export interface WaitOptions {
  /** true: the option without a state. */
  wait?: Until | true
  timeout: string
}

const defaultTimeoutS = 600

export const addWait = (command: Command): Command =>
  addTimeout(
    command.addOption(
      new Option('--wait [state]', 'wait until it is mined or confirmed (default: confirmed)').choices([
        'mined',
        'confirmed',
      ]),
    ),
  )

export const addTimeout = (command: Command): Command =>
  command.option('--timeout <seconds>', 'the longest wait', readTimeout, `${defaultTimeoutS}`)

/** Prints the transaction, after the wait that the options ask for. `relayerId`: null where a pool sent it. */
export async function follow(
  world: Context,
  relayerId: string | null,
  sent: Transaction,
  options: WaitOptions & GivenPrices,
): Promise<void> {
  printAccepted(world, sent, options)
  await printEnd(world, relayerId, sent, options)
}

/** Prints the transaction, and its warnings as notes; where the options ask for a wait, only notes. */
export function printAccepted(
  { print }: Context,
  sent: Transaction,
  { wait, ...prices }: WaitOptions & GivenPrices,
): void {
  if (wait === undefined) print.one(sent, sent.id)
  else print.note(`${sent.id} is accepted`)
  for (const warning of warningsOf(sent)) print.note(warning)
  if (sent.warnings?.some(({ code }) => code === 'price_below_base_fee'))
    for (const advice of adviceOf(sent, prices)) print.note(advice)
}

type GivenPrices = Pick<PriceOptions, 'maxFee' | 'gasPrice'>

/** What is to be done about a price that no block takes now. */
function* adviceOf({ id, relayer_id }: Transaction, { maxFee, gasPrice }: GivenPrices): Generator<string> {
  const price = maxFee ?? gasPrice ?? ''
  if (/^\d+$/.test(price)) yield `${price} without a unit is in wei; for gwei, write ${price}gwei`
  yield `Every later transaction of ${inLine(relayer_id)} waits for this one. To send it sooner: relayer tx speed-up ${id}. To withdraw it: relayer tx cancel ${id}`
}

/** What may delay a transaction that was accepted just now, a line each. */
export const warningsOf = ({ warnings = [] }: Transaction): string[] =>
  warnings.map(({ code, message }) => inLine(`warning ${code}: ${message}`))

/** Prints the transaction after the wait that the options ask for; nothing where they ask for none. */
export async function printEnd(
  world: Context,
  relayerId: string | null,
  { id }: Transaction,
  { wait, timeout }: WaitOptions,
): Promise<void> {
  if (wait === undefined) return
  const end = await waitUntil(world, relayerId, id, wait === true ? 'confirmed' : wait, timeout)
  world.print.one(end, inOneLine(end))
}

/** A number of seconds, which is read before anything is done. Throws CommandError. */
export function readTimeout(timeout: string): string {
  if (!/^\d{1,6}$/.test(timeout)) throw new CommandError(`--timeout must be a number of seconds; it is ${timeout}`)
  return timeout
}

/** The end of `--timeout`, from now on. */
export const timeoutSignal = (timeout: string): AbortSignal => AbortSignal.timeout(Number(timeout) * 1_000)

/** As `endOf`, and sets the exit code when the transaction failed. */
export async function waitUntil(...asked: Parameters<typeof endOf>): Promise<Transaction> {
  const end = await endOf(...asked)
  if (end.status !== 'mined' && end.status !== 'confirmed') process.exitCode = exitCodes.not_confirmed
  return end
}

/** Throws when the time is over. `onChange`: called with each change. */
export async function endOf(
  { client }: Context,
  relayerId: string | null,
  transactionId: string,
  until: Until,
  timeout: string,
  onChange: (transaction: Transaction) => void = () => {},
): Promise<Transaction> {
  const signal = timeoutSignal(timeout)
  try {
    return await waitForTransaction(client, relayerId, transactionId, { until, onChange, signal })
  } catch (error) {
    if (!signal.aborted) throw error
    const told = `${transactionId} is not ${until} after ${timeout} s: \`relayer why ${transactionId}\` says why`
    throw new CommandError(told, exitCodes.timeout)
  }
}

export const inOneLine = ({ id, status, hash, nonce, status_reason }: Transaction): string =>
  `${id}  ${status.padEnd(9)}  nonce ${nonce ?? '-'}  ${hash ?? '-'}${status_reason === null ? '' : `  ${status_reason}`}`
