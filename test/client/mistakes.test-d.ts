import type { RelayerClient } from '../../client/index.ts'

// Mistakes of callers that do not compile, and at the end three that do. The file is checked by tsc and never run.

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const call = { function: 'mint()', args: [] }
const limits = { max_gas_per_call: 1, max_fee_per_call: '1', max_fee_per_day: '1' }

export const mistakes = (client: RelayerClient) => [
  // @ts-expect-error no message
  () => client.signing.signMessage('demo', {}),
  // @ts-expect-error both forms of a message
  () => client.signing.signMessage('demo', { message: 'a', message_hex: '0x' }),
  // @ts-expect-error a message that is a number
  () => client.signing.signMessage('demo', { message: 1 }),
  // @ts-expect-error data beside a call
  () => client.transactions.send('demo', { to, data: '0x', call }),
  // @ts-expect-error a misspelt member
  () => client.transactions.send('demo', { to, valeu: '1' }),
  // @ts-expect-error a tier that does not exist
  () => client.transactions.send('demo', { to, speed: 'quick' }),
  // @ts-expect-error a status to wait for that does not exist
  () => client.transactions.send('demo', { to }, { wait: 'done' }),
  // @ts-expect-error no relayer
  () => client.transactions.send({ to }),
  // @ts-expect-error no id of the transaction
  () => client.transactions.getRelayerTransaction('demo'),
  // @ts-expect-error content in a change of the price
  () => client.transactions.speedUp('demo', 'id', { to }),
  // @ts-expect-error one notification and a list
  () => client.relayers.update('demo', { notification_id: 'a', notification_ids: ['a'] }),
  // @ts-expect-error a scope that does not exist
  () => client.apiKeys.create({ name: 'a', scopes: ['write'] }),
  // @ts-expect-error a relayer and a pool
  () => client.sponsorships.create({ relayer_id: 'a', pool_id: 'b', ...limits }),
  // @ts-expect-error the member of an answer that does not exist
  async () => (await client.transactions.getRelayerTransaction('demo', 'id')).gasLimit,
  // @ts-expect-error the casing of another API
  () => client.transactions.send('demo', { to, gasLimit: 21_000 }),
  // @ts-expect-error a deadline with a unit
  () => client.transactions.getRelayerTransaction('demo', 'id', { timeoutMs: '5s' }),
  // @ts-expect-error a number loses digits above 2^53
  () => client.transactions.send('demo', { to, value: 1e18 }),
  // @ts-expect-error a list is iterated, not awaited
  async () => (await client.relayers.list()).length,
  // @ts-expect-error a path that does not exist
  () => client.get('/api/v1/relayer'),
  // @ts-expect-error no id in the path
  () => client.get('/api/v1/relayers/{relayer_id}'),
]

// These compile, because no type of TypeScript tells them from a right call.
export const unseen = (client: RelayerClient) => [
  // A text that is no address: a template type would refuse every address that a program reads as text. The service answers 400.
  () => client.transactions.send('demo', { to: 'treasury' }),
  // No receiver, and no code of a new contract: the contract has both optional. The service answers 400.
  () => client.transactions.send('demo', { value: 1n }),
]
