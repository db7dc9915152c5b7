import type { RelayerClient } from '../../client/index.ts'

// Mistakes of callers that do not compile. The file is checked by tsc and never run.

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const call = { function: 'mint()', args: [] }

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
  () => client.transactions.get('demo'),
  // @ts-expect-error content in a change of the price
  () => client.transactions.speedUp('demo', 'id', { to }),
  // @ts-expect-error one notification and a list
  () => client.relayers.update('demo', { notification_id: 'a', notification_ids: ['a'] }),
  // @ts-expect-error a scope that does not exist
  () => client.apiKeys.create({ name: 'a', scopes: ['write'] }),
  // @ts-expect-error a relayer and a pool
  () => client.sponsorships.create({ relayer_id: 'a', pool_id: 'b', max_gas: 1, max_fee: '1', budget_per_day: '1' }),
  // @ts-expect-error the member of an answer that does not exist
  async () => (await client.transactions.get('demo', 'id')).gasLimit,
]
