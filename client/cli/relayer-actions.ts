import type { Command } from 'commander'
import type { Context } from './context.ts'

/** `nonce`, `heal`, `pause`, `resume` and `drain` of a relayer: the one that is named, or that of --relayer or RELAYER_ID. */
export function addRelayerActions(program: Command, context: () => Context): void {
  const add = (name: string, about: string, act: (world: Context, relayer_id: string) => Promise<void>) =>
    program
      .command(`${name} [relayer]`)
      .description(about)
      .action(async (given: string | undefined) => {
        const world = context()
        await act(world, given ?? (await world.relayerId()))
      })

  add('nonce', "compare the relayer's nonces with the chain", async ({ client, print }, id) => {
    const { status, explanation, ...others } = await client.relayers.getNonce(id)
    print.one({ status, explanation, ...others }, `${status}: ${explanation}`)
  })
  add('heal', "repair the relayer's nonces now", async ({ client, print }, id) =>
    print.one(await client.relayers.healNonce(id)),
  )
  add('pause', 'let the relayer sign and send nothing', async ({ client, print }, id) =>
    print.one(await client.relayers.update(id, { paused: true }), `${id} is paused; to continue: relayer resume ${id}`),
  )
  add('resume', 'end a pause or a drain', async ({ client, print }, id) => {
    const body = { paused: false, policies: { allow_transactions: null } }
    print.one(await client.relayers.update(id, body), `${id} signs and sends`)
  })
  add('drain', 'accept no new transactions, and finish those that there are', async ({ client, print }, id) => {
    const drained = await client.relayers.drain(id)
    print.one(drained, `${id} accepts no new transactions; to continue: relayer resume ${id}`)
  })
}
