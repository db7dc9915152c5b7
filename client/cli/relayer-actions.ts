import type { Command } from 'commander'
import type { ExternalTransactionInput, RelayerClient, ReplaceFundingRequest, SweepRelayerRequest } from '../index.ts'
import { readWei } from './amounts.ts'
import { type BodyOptions, readBody, repeated } from './body.ts'
import { collect } from './collect.ts'
import { type Context, parseJson, readInput } from './context.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { listOfMembers } from './resources.ts'
import { warningsOf } from './wait.ts'

interface OfPool {
  pool?: string
}

/** Throws where the pool and a relayer are named. */
export function onlyOne(pool: string, given: string | undefined, command: Command): void {
  const { relayer = given } = command.optsWithGlobals<{ relayer?: string }>()
  if (relayer !== undefined) throw new CommandError(`Give one of the relayer ${relayer} and --pool ${pool}`)
}

const externalPath = '/api/v1/relayers/{relayer_id}/external-transactions'
const acknowledgedAtOnce = 1_000

const comparedIn = (listed: unknown) => {
  const { nonce, hash } = { ...(listed as ExternalTransactionInput) }
  return { nonce, hash }
}

/** Acknowledges what the file names, as it was listed. Resolves to how many the list has besides. */
async function acknowledge(client: RelayerClient, relayerId: string, file: string): Promise<number> {
  const listed: unknown = parseJson(await readInput(file), file)
  if (!Array.isArray(listed))
    throw new CommandError(`${file} must be a list of transactions, as relayer external ${relayerId} --json writes it`)
  for (let start = 0; start < listed.length; start += acknowledgedAtOnce) {
    const compared: unknown[] = listed.slice(start, start + acknowledgedAtOnce)
    // The service checks the members.
    const transactions = compared.map(comparedIn)
    await client.relayers.acknowledgeExternalTransactions(relayerId, { transactions })
  }
  const query = { per_page: 1 }
  const { pagination } = await client.get(externalPath, { path: { relayer_id: relayerId }, query })
  return pagination.total_items
}

/**
 * `nonce`, `external`, `reconcile`, `pause`, `resume`, `drain`, `funding`, `fund`, `unfund` and `sweep` of a relayer: the one that is named, or that of --relayer or
 * RELAYER_ID.
 */
export function addRelayerActions(program: Command, context: () => Context): void {
  const add = (name: string, about: string, act: (world: Context, relayerId: string) => Promise<void>) =>
    program
      .command(`${name} [relayer]`)
      .description(about)
      .action(async (given: string | undefined) => {
        const world = context()
        await act(world, given ?? (await world.relayerId()))
      })

  add('nonce', "compare the relayer's nonces with the chain", async ({ client, print }, id) => {
    const { status, summary, ...others } = await client.relayers.getNonce(id)
    print.one({ status, summary, ...others }, `${status}: ${summary}`)
  })
  add('external', 'list the transactions with its key that this service did not send', async ({ client, print }, id) =>
    print.list(await collect(client.relayers.listExternalTransactions(id)), [
      ...(['nonce', 'hash', 'to', 'value', 'noticed_at'] as const),
    ]),
  )
  program
    .command('reconcile [relayer]')
    .description("reconcile the relayer's nonces with the chain now")
    .option(
      '--acknowledge-external <file>',
      'the transactions in this file, from `relayer external --json`, were compared with what was to be sent (-: standard input)',
    )
    .action(async (given: string | undefined, { acknowledgeExternal: file }: { acknowledgeExternal?: string }) => {
      const { client, print, relayerId } = context()
      const id = given ?? (await relayerId())
      const remaining = file === undefined ? 0 : await acknowledge(client, id, file)
      print.one(await client.relayers.reconcileNonce(id))
      if (remaining > 0)
        throw new CommandError(
          `${remaining} external ${remaining === 1 ? 'transaction of' : 'transactions of'} ${id} ${remaining === 1 ? 'is' : 'are'} not in the file: relayer external ${id}`,
          exitCodes.problems,
        )
    })
  add('pause', 'let the relayer sign and send nothing', async ({ client, print }, id) =>
    print.one(await client.relayers.update(id, { paused: true }), `${id} is paused; to continue: relayer resume ${id}`),
  )
  add('resume', 'end a pause or a drain', async ({ client, print }, id) => {
    const body = { paused: false, policies: { allow_transactions: null } }
    print.one(await client.relayers.update(id, body), `${id} signs and sends`)
  })
  add('drain', 'accept no new transactions, and finish those that there are', async ({ client, print }, id) => {
    const drained = await client.relayers.update(id, { policies: { allow_transactions: false } })
    print.one(drained, `${id} accepts no new transactions; to continue: relayer resume ${id}`)
  })
  const addFunding = (name: string, about: string) =>
    program
      .command(`${name} [relayer]`)
      .description(about)
      .option('--pool <id>', 'all relayers of this pool, under one limit')
  addFunding('funding', 'show where the relayer gets its funds from, and the newest refills').action(
    async (given: string | undefined, { pool }: OfPool, command: Command) => {
      const { client, print, relayerId } = context()
      if (pool !== undefined) {
        onlyOne(pool, given, command)
        return print.one(await client.pools.getFunding(pool))
      }
      print.one(await client.relayers.getFunding(given ?? (await relayerId())))
    },
  )
  addFunding('unfund', 'end the refills of the relayer').action(
    async (given: string | undefined, { pool }: OfPool, command: Command) => {
      const { client, print, relayerId } = context()
      if (pool !== undefined) {
        onlyOne(pool, given, command)
        return print.one(await client.pools.deleteFunding(pool), `the relayers of ${pool} are no longer refilled`)
      }
      const id = given ?? (await relayerId())
      print.one(await client.relayers.deleteFunding(id), `${id} is no longer refilled`)
    },
  )
  addFunding('fund', 'refill the relayer from another one, under a limit per day')
    .option('--file <file>', 'a JSON object with the members (-: standard input)')
    .option('--set <name=value>', 'sets a member, for example min_balance=0.2ether; repeatable', repeated)
    .addHelpText('after', listOfMembers('put /api/v1/relayers/{relayer_id}/funding'))
    .action(async (given: string | undefined, { pool, ...options }: BodyOptions & OfPool, command: Command) => {
      const { client, print, relayerId } = context()
      if (pool !== undefined) onlyOne(pool, given, command)
      // The service checks the body against the contract.
      const body = (await readBody(options)) as unknown as ReplaceFundingRequest
      if (pool !== undefined) return print.one(await client.pools.replaceFunding(pool, body))
      print.one(await client.relayers.replaceFunding(given ?? (await relayerId()), body))
    })
  program
    .command('sweep <to> [relayer]')
    .description('send all that the relayer has left to an address')
    .option('--asset <asset>', "coin, or an ERC-20 token's address (default: coin)")
    .option('--keep-amount <amount>', 'what stays: 1ether, 5gwei, or the smallest unit')
    .action(
      async (to: string, given: string | undefined, { asset, keepAmount }: { asset?: string; keepAmount?: string }) => {
        const world = context()
        const body: SweepRelayerRequest = {
          to,
          ...(asset !== undefined && { asset }),
          ...(keepAmount !== undefined && { keep_amount: `${readWei(keepAmount)}` }),
        }
        const sent = await world.client.relayers.sweep(given ?? (await world.relayerId()), body)
        world.print.one(sent)
        for (const warning of warningsOf(sent)) world.print.note(warning)
      },
    )
}
