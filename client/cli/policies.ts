import type { Command } from 'commander'
import type { UpdateRelayerRequest } from '../../generated/client.ts'
import { ifMatch } from '../revision.ts'
import { type BodyOptions, readBody, repeated } from './body.ts'
import { collect } from './collect.ts'
import type { Context } from './context.ts'
import { CommandError } from './exit-codes.ts'
import { listOfMembers, listsOf } from './resources.ts'

const onePath = '/api/v1/relayers/{relayer_id}'
const change = `patch ${onePath}`

/** `policies`: the limits of each relayer. */
export function addPolicies(program: Command, context: () => Context): void {
  const group = program.command('policies').description('the limits of relayers')
  group
    .command('list')
    .description('list the policies of all relayers')
    .action(async () => {
      const { client, print } = context()
      const relayers = await collect(client.all('/api/v1/relayers'))
      print.list(
        relayers.map(({ id, policies }) => ({ relayer_id: id, policies })),
        ['relayer_id', 'policies'],
      )
    })
  group
    .command('show <relayer>')
    .description('show the policies of a relayer')
    .action(async (relayerId: string) => {
      const { client, print } = context()
      print.one((await client.get(onePath, { path: { relayer_id: relayerId } })).data.policies)
    })
  group
    .command('change <relayer>')
    .description('change policies: absent ones stay, null removes, for example --set max_value=1ether')
    .option('--file <file>', 'a JSON object with the policies (-: standard input)')
    .option('--set <name=value>', 'sets a policy; again for another one, or for another value of a list', repeated)
    .addHelpText('after', listOfMembers(change, {}, 'policies.'))
    .action(async (relayerId: string, options: BodyOptions) => {
      const { client, print } = context()
      const policies = await readBody(options, {}, listsOf(change, 'policies.'))
      if (Object.keys(policies).length === 0) throw new CommandError('Nothing to change: give --set or --file')
      // The service checks the members.
      const body = { policies } as UpdateRelayerRequest
      const path = { relayer_id: relayerId }
      const { revision } = (await client.get(onePath, { path })).data
      print.one((await client.patch(onePath, { path, body, header: ifMatch(revision) })).data.policies)
    })
}
