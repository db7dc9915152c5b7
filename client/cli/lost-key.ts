import type { RelayerClient } from '../index.ts'
import { inCoins } from './amounts.ts'
import { collect } from './collect.ts'
import type { Context } from './context.ts'
import { inLine } from './terminal.ts'

/** What is lost with a signer, in words. Undefined: its key is in a key service, and stays there. */
export async function lossOf({ client }: Context, signerId: string): Promise<string | undefined> {
  const { id, type, address } = await client.signers.get(signerId)
  if (type !== 'local') return undefined
  const balances = await balancesOf(client, address).catch(() => [
    'the balances are not known: this API key may not read them',
  ])
  return [
    `Deleting signer ${inLine(id)} destroys its private key. Without a copy of the key, what ${address} owns is lost for good:`,
    ...balances.map((balance) => inLine(`  ${balance}`)),
    '  Tokens are not looked up.',
  ].join('\n')
}

/** On each network, as the nodes answer a relayer of it. */
async function balancesOf(client: RelayerClient, address: string): Promise<string[]> {
  const relayers = await collect(client.all('/api/v1/relayers'))
  const networks = await collect(client.all('/api/v1/networks'))
  const balanceOn = async ({ name, symbol }: { name: string; symbol: string | null }) => {
    const relayer = relayers.find(({ network }) => network === name)
    if (!relayer) return `${name}: not known, because no relayer is on this network`
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params: [address, 'latest'] } as const
    try {
      const answer = await client.post('/api/v1/relayers/{relayer_id}/rpc', {
        path: { relayer_id: relayer.id },
        body: call,
      })
      const { result } = answer as { result?: unknown }
      return typeof result === 'string' ? `${name}: ${inCoins(`${BigInt(result)}`, symbol)}` : `${name}: not known`
    } catch {
      return `${name}: not known`
    }
  }
  return Promise.all(networks.map(balanceOn))
}
